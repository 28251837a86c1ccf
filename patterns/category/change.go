package category

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// change is a change of the tree. It is stored before it begins, so that any process can finish a
// change that its author has not finished: each step may be repeated.
type change struct {
	Op     string         `bson:"op"`
	ID     bson.ObjectID  `bson:"id"`
	Slug   string         `bson:"slug,omitempty"`
	Name   string         `bson:"name,omitempty"`
	Parent *bson.ObjectID `bson:"parent,omitempty"`
}

const (
	opAdd    = "add"
	opMove   = "move"
	opRename = "rename"
	opRemove = "remove"
	opRepair = "repair"
)

// state is the only document of the state collection. It holds the change under way.
type state struct {
	// Seq is the number of changes so far.
	Seq int64 `bson:"seq"`
	// Change is the change under way, or nil. Its author must finish it before Until.
	Change *change   `bson:"change"`
	Until  time.Time `bson:"until"`

	mended int // number of documents that Repair has changed
}

const stateID = "tree"

// pace is the interval at which a process looks whether another process's change has ended.
const pace = 20 * time.Millisecond

// do carries out a change, after all changes that began before it.
func (t *Tree) do(ctx context.Context, c change) (*state, error) {
	for {
		s, err := t.begin(ctx, &c)
		if err == nil {
			return s, t.finish(ctx, s)
		}
		if !mongo.IsDuplicateKeyError(err) {
			return nil, fmt.Errorf("category: begin to %s %s: %w", c.Op, c.ID.Hex(), err)
		}
		if helped, err := t.help(ctx); err != nil {
			return nil, err
		} else if helped {
			continue
		}
		if err := t.env.Clock.Sleep(ctx, pace); err != nil {
			return nil, err
		}
	}
}

// begin stores a change. It fails with a duplicate key error while another change is under way.
func (t *Tree) begin(ctx context.Context, c *change) (*state, error) {
	idle := bson.D{{"_id", stateID}, {"change", nil}}
	return t.take(ctx, idle, bson.D{
		{"$set", bson.D{{"change", c}, {"until", t.env.Now().Add(t.cfg.Lease)}}},
		{"$inc", bson.D{{"seq", int64(1)}}},
	}, true)
}

// help carries out a change that its author has not finished in time. It reports whether it found
// such a change.
func (t *Tree) help(ctx context.Context) (bool, error) {
	now := t.env.Now()
	dead := bson.D{
		{"_id", stateID},
		{"change", bson.D{{"$ne", nil}}},
		{"until", bson.D{{"$lte", now}}},
	}
	s, err := t.take(ctx, dead, bson.D{{"$set", bson.D{{"until", now.Add(t.cfg.Lease)}}}}, false)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("category: take over a change: %w", err)
	}
	t.env.Logger.Warn("a change of the category tree is finished for another", "op", s.Change.Op,
		"category", s.Change.ID.Hex())
	t.env.Metrics.Add("category.helped", 1)
	if err := t.finish(ctx, s); err != nil && !refused(err) {
		return false, err
	}
	return true, nil
}

func (t *Tree) take(ctx context.Context, when, then bson.D, upsert bool) (*state, error) {
	var s state
	opts := options.FindOneAndUpdate().SetUpsert(upsert).SetReturnDocument(options.After)
	return &s, t.state.FindOneAndUpdate(ctx, when, then, opts).Decode(&s)
}

// refused reports whether an error means that the change was checked and refused, so that nothing
// was changed.
func refused(err error) bool {
	for _, answer := range []error{ErrNotFound, ErrSlugTaken, ErrCycle, ErrHasChildren, ErrTooDeep} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return false
}

// finish carries out the change of a state. If the change was done or refused, finish removes it
// from the state. After any other error the change stays for a later process.
func (t *Tree) finish(ctx context.Context, s *state) error {
	ctx, cancel := t.withinLease(ctx, s)
	defer cancel()
	err := t.carryOut(ctx, s)
	if err != nil && !refused(err) {
		return fmt.Errorf("category: %s %s: %w", s.Change.Op, s.Change.ID.Hex(), err)
	}
	mine := bson.D{{"_id", stateID}, {"seq", s.Seq}}
	if _, clear := t.state.UpdateOne(ctx, mine, bson.D{{"$set", bson.D{{"change", nil}}}}); clear != nil {
		return errors.Join(err, fmt.Errorf("category: end change %d: %w", s.Seq, clear))
	}
	return err
}

// withinLease returns a context that ends with the lease, when other processes consider this one
// dead.
func (t *Tree) withinLease(ctx context.Context, s *state) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.Until.Sub(t.env.Now()))
}

func (t *Tree) carryOut(ctx context.Context, s *state) error {
	c := s.Change
	switch c.Op {
	case opRemove:
		return t.carryOutRemove(ctx, c)
	case opRepair:
		return t.carryOutRepair(ctx, s)
	}
	n, parent, err := t.changed(ctx, s)
	if err != nil {
		return err
	}
	t.design.derive(n, parent)
	if c.Op == opAdd {
		return t.insert(ctx, n)
	}
	below, err := t.descendants(ctx, n)
	if err != nil {
		return err
	}
	if c.Op == opMove {
		if err := t.checkMove(n, parent, below); err != nil {
			return err
		}
	}
	set := append(t.design.derived(n), bson.E{"slug", n.Slug}, bson.E{"name", n.Name},
		bson.E{"parent", n.Parent}, bson.E{"change", s.Seq})
	if _, err := t.categories.UpdateOne(ctx, notLater(n.ID, s.Seq), bson.D{{"$set", set}}); err != nil {
		return slugError(err, n)
	}
	return t.rewrite(ctx, n, below, s.Seq)
}

// changed returns the node as it will be after the change, and its parent.
func (t *Tree) changed(ctx context.Context, s *state) (n, parent *node, err error) {
	c := s.Change
	if c.Op == opAdd {
		n = &node{ID: c.ID, Slug: c.Slug, Name: c.Name, Parent: c.Parent, Change: s.Seq}
	} else if n, err = t.node(ctx, c.ID); err != nil {
		return nil, nil, err
	}
	switch c.Op {
	case opMove:
		n.Parent = c.Parent
	case opRename:
		n.Slug, n.Name = c.Slug, c.Name
	}
	if n.Parent == nil {
		return n, nil, nil
	}
	if parent, err = t.node(ctx, *n.Parent); err != nil {
		return nil, nil, err
	}
	if c.Op == opAdd && t.design.depth(parent) >= t.cfg.MaxDepth {
		return nil, nil, ErrTooDeep
	}
	return n, parent, nil
}

// notLater selects a node unless a later change has written it. A process that slept during its
// change therefore cannot overwrite later changes.
func notLater(id bson.ObjectID, seq int64) bson.D {
	return bson.D{{"_id", id}, {"change", bson.D{{"$lte", seq}}}}
}

// slugError returns ErrSlugTaken for a duplicate key error.
func slugError(err error, n *node) error {
	if mongo.IsDuplicateKeyError(err) {
		return fmt.Errorf("%w: %q", ErrSlugTaken, n.Slug)
	}
	return err
}

// insert adds a node, unless an earlier attempt of the same change has added it.
func (t *Tree) insert(ctx context.Context, n *node) error {
	_, err := t.categories.InsertOne(ctx, n.document(t.design))
	if mongo.IsDuplicateKeyError(err) {
		if _, found := t.node(ctx, n.ID); found == nil {
			return nil
		}
	}
	return slugError(err, n)
}

func (n *node) document(d design) bson.D {
	return append(bson.D{
		{"_id", n.ID},
		{"slug", n.Slug},
		{"name", n.Name},
		{"parent", n.Parent},
		{"rank", n.Rank},
		{"change", n.Change},
	}, d.derived(n)...)
}

func (t *Tree) carryOutRemove(ctx context.Context, c *change) error {
	err := t.categories.FindOne(ctx, bson.D{{"parent", c.ID}},
		options.FindOne().SetProjection(bson.D{{"_id", 1}})).Err()
	if err == nil {
		return ErrHasChildren
	}
	if !errors.Is(err, mongo.ErrNoDocuments) {
		return err
	}
	// Remove the category from its products before the category itself is removed: as long as the
	// category exists, a process that continues this change repeats both steps.
	if _, err := t.untag(ctx, c.ID); err != nil {
		return err
	}
	res, err := t.categories.DeleteOne(ctx, bson.D{{"_id", c.ID}})
	if err == nil && res.DeletedCount == 0 {
		return ErrNotFound
	}
	return err
}

// untag removes a category from all products, and returns the number of changed products.
func (t *Tree) untag(ctx context.Context, id bson.ObjectID) (int, error) {
	var pulled any = id
	if t.design.tagID() != "" {
		pulled = bson.D{{"_id", id}}
	}
	res, err := t.products.UpdateMany(ctx, bson.D{{t.cfg.Field + t.design.tagID(), id}},
		bson.D{{"$pull", bson.D{{t.cfg.Field, pulled}}}})
	if err != nil {
		return 0, err
	}
	return int(res.ModifiedCount), nil
}
