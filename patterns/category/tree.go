package category

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Top is the parent of the categories at the top.
var Top bson.ObjectID

// Add adds a category below a parent, or at the Top.
func (t *Tree) Add(ctx context.Context, parent bson.ObjectID, slug, name string) (Category, error) {
	if err := checkSlug(slug); err != nil {
		return Category{}, err
	}
	if err := t.ready(ctx); err != nil {
		return Category{}, err
	}
	c := change{Op: opAdd, ID: bson.NewObjectID(), Slug: slug, Name: name, Parent: ref(parent)}
	if _, err := t.do(ctx, c); err != nil {
		return Category{}, err
	}
	return Category{ID: c.ID, Slug: slug, Name: name, Parent: parent}, nil
}

// Move moves a category, with everything below it, below another parent or to the Top.
func (t *Tree) Move(ctx context.Context, id, parent bson.ObjectID) error {
	_, err := t.do(ctx, change{Op: opMove, ID: id, Parent: ref(parent)})
	return err
}

// Rename changes the slug and the name of a category, also in all copies.
func (t *Tree) Rename(ctx context.Context, id bson.ObjectID, slug, name string) error {
	if err := checkSlug(slug); err != nil {
		return err
	}
	_, err := t.do(ctx, change{Op: opRename, ID: id, Slug: slug, Name: name})
	return err
}

// Remove removes a category, also from its products. It fails with ErrHasChildren if there are
// categories below it.
func (t *Tree) Remove(ctx context.Context, id bson.ObjectID) error {
	_, err := t.do(ctx, change{Op: opRemove, ID: id})
	return err
}

// Reorder puts the children of a parent into the given order. Other children keep their ranks.
func (t *Tree) Reorder(ctx context.Context, parent bson.ObjectID, children ...bson.ObjectID) error {
	if len(children) == 0 {
		return nil
	}
	writes := make([]mongo.WriteModel, len(children))
	for i, id := range children {
		writes[i] = mongo.NewUpdateOneModel().SetFilter(bson.D{{"_id", id}, {"parent", ref(parent)}}).
			SetUpdate(bson.D{{"$set", bson.D{{"rank", i}}}})
	}
	res, err := t.categories.BulkWrite(ctx, writes)
	if err == nil && res.MatchedCount < int64(len(children)) {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("category: reorder: %w", err)
	}
	return nil
}

// Get returns a category by its _id, or ErrNotFound.
func (t *Tree) Get(ctx context.Context, id bson.ObjectID) (Category, error) {
	n, err := t.node(ctx, id)
	if err != nil {
		return Category{}, err
	}
	return n.category(), nil
}

// Find returns a category by its slug, and the categories above it, beginning at the top.
func (t *Tree) Find(ctx context.Context, slug string) (Category, []Crumb, error) {
	n, err := t.findNode(ctx, bson.D{{"slug", slug}})
	if err != nil {
		return Category{}, nil, err
	}
	crumbs, err := t.design.crumbs(ctx, n)
	if err != nil {
		return Category{}, nil, fmt.Errorf("category: those above %s: %w", slug, err)
	}
	return n.category(), crumbs, nil
}

// Children returns the categories directly below a category, or at the Top, in their order. An
// index covers the query.
func (t *Tree) Children(ctx context.Context, id bson.ObjectID) ([]Category, error) {
	opts := options.Find().SetSort(bson.D{{"rank", 1}, {"slug", 1}}).
		SetProjection(bson.D{{"parent", 1}, {"rank", 1}, {"slug", 1}, {"name", 1}, {"_id", 1}})
	return t.list(ctx, bson.D{{"parent", ref(id)}}, opts)
}

// Subtree returns a category and all categories below it, in no particular order.
func (t *Tree) Subtree(ctx context.Context, id bson.ObjectID) ([]Category, error) {
	n, err := t.node(ctx, id)
	if err != nil {
		return nil, err
	}
	return t.list(ctx, t.design.subtree(n), options.Find())
}

func (t *Tree) list(ctx context.Context, filter bson.D, opts *options.FindOptionsBuilder) ([]Category, error) {
	nodes, err := t.nodes(ctx, filter, opts)
	if err != nil {
		return nil, err
	}
	out := make([]Category, len(nodes))
	for i, n := range nodes {
		out[i] = n.category()
	}
	return out, nil
}

func (t *Tree) nodes(ctx context.Context, filter bson.D, opts *options.FindOptionsBuilder) ([]*node, error) {
	cur, err := t.categories.Find(ctx, filter, opts)
	if err != nil {
		return nil, fmt.Errorf("category: find: %w", err)
	}
	var out []*node
	if err := cur.All(ctx, &out); err != nil {
		return nil, fmt.Errorf("category: find: %w", err)
	}
	return out, nil
}

func (t *Tree) node(ctx context.Context, id bson.ObjectID) (*node, error) {
	return t.findNode(ctx, bson.D{{"_id", id}})
}

func (t *Tree) findNode(ctx context.Context, filter bson.D) (*node, error) {
	var n node
	err := t.categories.FindOne(ctx, filter).Decode(&n)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("category: find: %w", err)
	}
	return &n, nil
}

// descendants returns the nodes below a node, level by level. It follows the parents, which are
// right even if an interrupted change has left wrong copies.
func (t *Tree) descendants(ctx context.Context, n *node) (levels [][]*node, err error) {
	seen := map[bson.ObjectID]bool{n.ID: true}
	for ids := []bson.ObjectID{n.ID}; ; {
		level, err := t.nodes(ctx, bson.D{{"parent", bson.D{{"$in", ids}}}}, options.Find())
		if err != nil || len(level) == 0 {
			return levels, err
		}
		ids = ids[:0:0]
		for _, child := range level {
			if seen[child.ID] {
				return nil, fmt.Errorf("category: %w: %s is below itself", ErrCycle, child.Slug)
			}
			seen[child.ID] = true
			ids = append(ids, child.ID)
		}
		levels = append(levels, level)
	}
}

// checkMove refuses to move a category below itself, or deeper than the tree may be.
func (t *Tree) checkMove(n, parent *node, below [][]*node) error {
	if parent == nil {
		return nil
	}
	for _, level := range append([][]*node{{n}}, below...) {
		for _, inside := range level {
			if inside.ID == parent.ID {
				return ErrCycle
			}
		}
	}
	if t.design.depth(parent)+1+len(below) > t.cfg.MaxDepth {
		return ErrTooDeep
	}
	return nil
}

// rewrite derives the copies of all nodes below a node again, and updates the tags in all their
// products.
func (t *Tree) rewrite(ctx context.Context, n *node, below [][]*node, seq int64) error {
	byID := map[bson.ObjectID]*node{n.ID: n}
	products := t.design.retag(n)
	var writes []mongo.WriteModel
	for _, level := range below {
		for _, child := range level {
			byID[child.ID] = child
			t.design.derive(child, byID[*child.Parent])
			set := append(t.design.derived(child), bson.E{"change", seq})
			writes = append(writes,
				mongo.NewUpdateOneModel().SetFilter(notLater(child.ID, seq)).SetUpdate(bson.D{{"$set", set}}))
			products = append(products, t.design.retag(child)...)
		}
	}
	if len(writes) > 0 {
		if _, err := t.categories.BulkWrite(ctx, writes); err != nil {
			return err
		}
	}
	if len(products) > 0 {
		if _, err := t.products.BulkWrite(ctx, products); err != nil {
			return err
		}
	}
	return nil
}
