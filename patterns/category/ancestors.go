package category

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
)

// ancestors is the design in which each category stores an array of the categories above it, the
// parent first. Products store the _ids of their categories.
type ancestors struct{ *Tree }

func (ancestors) derive(n, parent *node) {
	n.Ancestors = nil
	if parent != nil {
		n.Ancestors = append([]Crumb{parent.crumb()}, parent.Ancestors...)
	}
}

func (ancestors) derived(n *node) bson.D {
	if n.Ancestors == nil {
		return bson.D{{"ancestors", bson.A{}}}
	}
	return bson.D{{"ancestors", n.Ancestors}}
}

func (ancestors) depth(n *node) int { return len(n.Ancestors) + 1 }

func (ancestors) subtree(n *node) bson.D {
	return bson.D{{"$or", bson.A{bson.D{{"_id", n.ID}}, bson.D{{"ancestors._id", n.ID}}}}}
}

func (ancestors) crumbs(_ context.Context, n *node) ([]Crumb, error) {
	out := slices.Clone(n.Ancestors)
	slices.Reverse(out)
	return out, nil
}

func (ancestors) tag(n *node) any { return n.ID }

func (a ancestors) tagged(ctx context.Context, n *node, below bool) (bson.D, error) {
	if !below {
		return bson.D{{a.cfg.Field, n.ID}}, nil
	}
	var ids []bson.ObjectID
	if err := a.categories.Distinct(ctx, "_id", a.subtree(n)).Decode(&ids); err != nil {
		return nil, err
	}
	return bson.D{{a.cfg.Field, bson.D{{"$in", ids}}}}, nil
}

func (ancestors) retag(*node) []mongo.WriteModel { return nil }

func (ancestors) tagID() string { return "" }

func (a ancestors) indexes() []patterns.Index {
	return []patterns.Index{
		{Collection: a.categories.Name(), Model: mongo.IndexModel{Keys: bson.D{{"ancestors._id", 1}}}},
		{Collection: a.products.Name(), Model: mongo.IndexModel{Keys: bson.D{{a.cfg.Field, 1}}}},
	}
}
