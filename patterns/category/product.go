package category

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Scope says which products of a category are selected.
type Scope int

// These are the scopes of Products and CountProducts.
const (
	Here     Scope = iota // the products of the category itself
	AndBelow              // the products of the category and of all categories below it
)

// Assign sets the categories of a product. Without categories, the product is in none.
func (t *Tree) Assign(ctx context.Context, product any, categories ...bson.ObjectID) error {
	for {
		nodes, err := t.tagsOf(ctx, categories)
		if err != nil {
			return err
		}
		tags := make(bson.A, len(nodes))
		for i, n := range nodes {
			tags[i] = t.design.tag(n)
		}
		res, err := t.products.UpdateOne(ctx, bson.D{{"_id", product}},
			bson.D{{"$set", bson.D{{t.cfg.Field, tags}}}})
		if err != nil {
			return fmt.Errorf("category: assign %v: %w", product, err)
		}
		if res.MatchedCount == 0 {
			return fmt.Errorf("category: assign %v: %w", product, mongo.ErrNoDocuments)
		}
		if same, err := t.stillTagged(ctx, nodes); err != nil || same {
			return err
		}
	}
}

// tagsOf returns the categories in the order of their ids. It fails with ErrNotFound if one does
// not exist.
func (t *Tree) tagsOf(ctx context.Context, ids []bson.ObjectID) ([]*node, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := t.nodes(ctx, bson.D{{"_id", bson.D{{"$in", ids}}}}, options.Find())
	if err != nil {
		return nil, err
	}
	byID := map[bson.ObjectID]*node{}
	for _, n := range found {
		byID[n.ID] = n
	}
	out := make([]*node, len(ids))
	for i, id := range ids {
		if out[i] = byID[id]; out[i] == nil {
			return nil, fmt.Errorf("%w: %s", ErrNotFound, id.Hex())
		}
	}
	return out, nil
}

// stillTagged reports whether the tags of the categories are unchanged since Assign read them. A
// change at the same time may have updated the products before Assign wrote this product.
func (t *Tree) stillTagged(ctx context.Context, nodes []*node) (bool, error) {
	ids := make([]bson.ObjectID, len(nodes))
	for i, n := range nodes {
		ids[i] = n.ID
	}
	now, err := t.tagsOf(ctx, ids)
	if errors.Is(err, ErrNotFound) {
		return false, errors.Join(err, t.untagGone(ctx, ids))
	}
	if err != nil {
		return false, err
	}
	for i := range nodes {
		if t.design.tag(now[i]) != t.design.tag(nodes[i]) {
			return false, nil
		}
	}
	return true, nil
}

// untagGone removes categories that no longer exist from all products.
func (t *Tree) untagGone(ctx context.Context, ids []bson.ObjectID) error {
	for _, id := range ids {
		_, err := t.node(ctx, id)
		if errors.Is(err, ErrNotFound) {
			_, err = t.untag(ctx, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Products returns a cursor over the products of a category.
func (t *Tree) Products(ctx context.Context, id bson.ObjectID, scope Scope,
	opts ...options.Lister[options.FindOptions],
) (*mongo.Cursor, error) {
	filter, err := t.productFilter(ctx, id, scope)
	if err != nil {
		return nil, err
	}
	cur, err := t.products.Find(ctx, filter, opts...)
	if err != nil {
		return nil, fmt.Errorf("category: products: %w", err)
	}
	return cur, nil
}

// CountProducts returns the number of products of a category.
func (t *Tree) CountProducts(ctx context.Context, id bson.ObjectID, scope Scope) (int64, error) {
	filter, err := t.productFilter(ctx, id, scope)
	if err != nil {
		return 0, err
	}
	n, err := t.products.CountDocuments(ctx, filter)
	if err != nil {
		return 0, fmt.Errorf("category: products: %w", err)
	}
	return n, nil
}

func (t *Tree) productFilter(ctx context.Context, id bson.ObjectID, scope Scope) (bson.D, error) {
	n, err := t.node(ctx, id)
	if err != nil {
		return nil, err
	}
	filter, err := t.design.tagged(ctx, n, scope == AndBelow)
	if err != nil {
		return nil, fmt.Errorf("category: products: %w", err)
	}
	return filter, nil
}
