package category

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// These are the rules whose violations Check lists.
const (
	RuleParent  = "a parent exists"
	RuleCycle   = "no category is below itself"
	RuleSlug    = "slugs are unique"
	RuleCopies  = "ancestors and paths follow from the parents"
	RuleDepth   = "no tree is deeper than is configured"
	RuleProduct = "what products hold of a category is right"
	RuleChange  = "no change is left unfinished"
)

// Check reads the whole tree and the categories of all products, and lists the violations of the
// rules. It keeps all categories in memory.
func (t *Tree) Check(ctx context.Context) ([]patterns.Violation, error) {
	var out []patterns.Violation
	violate := func(rule string, coll *mongo.Collection, id any, format string, args ...any) {
		out = append(out, patterns.Violation{
			Rule: rule, Collection: coll.Name(), ID: id,
			Detail: fmt.Sprintf(format, args...),
		})
	}
	all, err := t.nodes(ctx, bson.D{}, options.Find())
	if err != nil {
		return nil, err
	}
	f := newForest(all)
	slugs := map[string]bson.ObjectID{}
	for _, n := range all {
		if other, taken := slugs[n.Slug]; taken {
			violate(RuleSlug, t.categories, n.ID, "%q is also the slug of %s", n.Slug, other.Hex())
		}
		slugs[n.Slug] = n.ID
		chain, rule := f.above(n)
		if rule != "" {
			violate(rule, t.categories, n.ID, "its parent is %s", deref(n.Parent).Hex())
			continue
		}
		if len(chain)+1 > t.cfg.MaxDepth {
			violate(RuleDepth, t.categories, n.ID, "it is on level %d", len(chain)+1)
		}
		if want := t.rederived(n, chain); !sameCopies(n, want) {
			violate(RuleCopies, t.categories, n.ID, "%v, and not %v", t.design.derived(n), t.design.derived(want))
		}
	}
	err = t.eachTag(ctx, func(tag bson.RawValue, product any) {
		id, n := t.tagOwner(tag, f)
		if n == nil {
			violate(RuleProduct, t.products, product, "it has the category %s, which does not exist", id)
		} else if !t.isTag(tag, n) {
			violate(RuleProduct, t.products, product, "it has %s of the category %s", tag, id)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("category: check the products: %w", err)
	}
	var s state
	err = t.state.FindOne(ctx, bson.D{{"_id", stateID}}).Decode(&s)
	if err == nil && s.Change != nil && !s.Until.After(t.env.Now()) {
		violate(RuleChange, t.state, stateID, "%s of %s since %v", s.Change.Op,
			s.Change.ID.Hex(), s.Until.Add(-t.cfg.Lease))
	}
	if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
		return nil, fmt.Errorf("category: check the state: %w", err)
	}
	return out, nil
}

// Repair finishes a change whose author died, and derives all copies again from the parents. It
// moves a category to the top if its parent does not exist, or if it is below itself. It removes
// categories that do not exist from products. It returns the number of documents that it changed.
func (t *Tree) Repair(ctx context.Context) (int, error) {
	s, err := t.do(ctx, change{Op: opRepair})
	if err != nil {
		return 0, err
	}
	return s.mended, nil
}

func (t *Tree) carryOutRepair(ctx context.Context, s *state) error {
	all, err := t.nodes(ctx, bson.D{}, options.Find().SetSort(bson.D{{"_id", 1}}))
	if err != nil {
		return err
	}
	f := newForest(all)
	var writes []mongo.WriteModel
	for _, n := range all {
		want := t.rederived(n, f.settle(n))
		set := append(t.design.derived(want), bson.E{"parent", n.Parent}, bson.E{"change", s.Seq})
		var differs bson.A
		for _, e := range set[:len(set)-1] {
			differs = append(differs, bson.D{{e.Key, bson.D{{"$ne", e.Value}}}})
		}
		wrong := append(notLater(n.ID, s.Seq), bson.E{"$or", differs})
		writes = append(writes, mongo.NewUpdateOneModel().SetFilter(wrong).SetUpdate(bson.D{{"$set", set}}))
		*n = *want
	}
	if err := t.mend(ctx, s, t.categories, writes); err != nil {
		return err
	}
	return t.repairProducts(ctx, s, f)
}

// repairProducts corrects the tags of products.
func (t *Tree) repairProducts(ctx context.Context, s *state, f *forest) error {
	gone, stale := map[bson.ObjectID]bool{}, map[bson.ObjectID]*node{}
	err := t.eachTag(ctx, func(tag bson.RawValue, _ any) {
		if id, n := t.tagOwner(tag, f); n == nil {
			gone[id] = true
		} else if !t.isTag(tag, n) {
			stale[id] = n
		}
	})
	if err != nil {
		return err
	}
	for id := range gone {
		n, err := t.untag(ctx, id)
		if err != nil {
			return err
		}
		s.mended += n
	}
	var writes []mongo.WriteModel
	for _, n := range stale {
		writes = append(writes, t.design.retag(n)...)
	}
	return t.mend(ctx, s, t.products, writes)
}

func (t *Tree) mend(ctx context.Context, s *state, coll *mongo.Collection, writes []mongo.WriteModel) error {
	if len(writes) == 0 {
		return nil
	}
	res, err := coll.BulkWrite(ctx, writes)
	if err != nil {
		return err
	}
	if res.ModifiedCount > 0 {
		t.env.Logger.Warn("a category tree was mended", "collection", coll.Name(), "documents", res.ModifiedCount)
	}
	s.mended += int(res.ModifiedCount)
	return nil
}

// rederived returns a node with the copies derived from its chain of ancestors, which begins with
// the parent.
func (t *Tree) rederived(n *node, chain []*node) *node {
	var parent *node
	for i := len(chain) - 1; i >= 0; i-- {
		one := *chain[i]
		t.design.derive(&one, parent)
		parent = &one
	}
	out := *n
	t.design.derive(&out, parent)
	return &out
}

func sameCopies(a, b *node) bool {
	return a.Path == b.Path && len(a.Ancestors) == len(b.Ancestors) &&
		(len(a.Ancestors) == 0 || reflect.DeepEqual(a.Ancestors, b.Ancestors))
}

// eachTag calls fn with each different tag that products store, and the _id of one product that has
// it.
func (t *Tree) eachTag(ctx context.Context, fn func(tag bson.RawValue, product any)) error {
	field := "$" + t.cfg.Field
	cur, err := t.products.Aggregate(ctx, mongo.Pipeline{
		{{"$match", bson.D{{t.cfg.Field + t.design.tagID(), bson.D{{"$exists", true}}}}}},
		{{"$unwind", field}},
		{{"$group", bson.D{{"_id", field}, {"product", bson.D{{"$first", "$_id"}}}}}},
	}, options.Aggregate().SetAllowDiskUse(true))
	if err != nil {
		return err
	}
	defer func() { _ = cur.Close(ctx) }()
	for cur.Next(ctx) {
		var row struct {
			Tag     bson.RawValue `bson:"_id"`
			Product any           `bson:"product"`
		}
		if err := cur.Decode(&row); err != nil {
			return err
		}
		fn(row.Tag, row.Product)
	}
	return cur.Err()
}

// tagOwner returns the category to which a tag belongs, or nil if it does not exist.
func (t *Tree) tagOwner(tag bson.RawValue, f *forest) (bson.ObjectID, *node) {
	if doc, ok := tag.DocumentOK(); ok {
		tag = doc.Lookup("_id")
	}
	id, _ := tag.ObjectIDOK()
	return id, f.byID[id]
}

func (t *Tree) isTag(tag bson.RawValue, n *node) bool {
	kind, data, err := bson.MarshalValue(t.design.tag(n))
	return err == nil && tag.Equal(bson.RawValue{Type: kind, Value: data})
}

// forest holds all categories by their _ids.
type forest struct{ byID map[bson.ObjectID]*node }

func newForest(all []*node) *forest {
	f := &forest{byID: make(map[bson.ObjectID]*node, len(all))}
	for _, n := range all {
		f.byID[n.ID] = n
	}
	return f
}

// above returns the chain of ancestors of a node, the parent first. If the chain does not end at
// the top, it also returns the violated rule.
func (f *forest) above(n *node) (chain []*node, rule string) {
	for at := n; at.Parent != nil; {
		if at = f.byID[*at.Parent]; at == nil {
			return chain, RuleParent
		}
		if at == n || len(chain) > len(f.byID) {
			return chain, RuleCycle
		}
		chain = append(chain, at)
	}
	return chain, ""
}

// settle corrects parents until the chain of a node's ancestors ends at the top, and returns the
// chain.
func (f *forest) settle(n *node) []*node {
	for {
		chain, rule := f.above(n)
		if rule == "" {
			return chain
		}
		last := n // the category whose parent does not exist, or one that is below itself
		if len(chain) > 0 {
			last = chain[len(chain)-1]
		}
		last.Parent = nil
	}
}
