package category

import (
	"context"
	"regexp"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// paths is the design in which each category stores the path of slugs that leads to it:
// "/electronics/embedded/". A path ends with a slash, so the categories below it are exactly the
// ones whose paths begin with it. Products store the _id and the path of each of their categories.
type paths struct{ *Tree }

func (paths) derive(n, parent *node) {
	above := "/"
	if parent != nil {
		above = parent.Path
	}
	n.Path = above + n.Slug + "/"
}

func (paths) derived(n *node) bson.D { return bson.D{{"path", n.Path}} }

func (paths) depth(n *node) int { return strings.Count(n.Path, "/") - 1 }

// below returns the condition that a path equals or begins with the node's path. The expression is
// anchored and case-sensitive, so it is a range of an index.
func below(n *node) bson.Regex { return bson.Regex{Pattern: "^" + regexp.QuoteMeta(n.Path)} }

func (paths) subtree(n *node) bson.D { return bson.D{{"path", below(n)}} }

func (p paths) crumbs(ctx context.Context, n *node) ([]Crumb, error) {
	var above []string
	for i := 1; i < len(n.Path)-1; i++ {
		if n.Path[i] == '/' {
			above = append(above, n.Path[:i+1])
		}
	}
	if len(above) == 0 {
		return nil, nil
	}
	cur, err := p.categories.Find(ctx, bson.D{{"path", bson.D{{"$in", above}}}},
		options.Find().SetSort(bson.D{{"path", 1}})) // a path sorts before the paths that it begins
	if err != nil {
		return nil, err
	}
	var out []Crumb
	return out, cur.All(ctx, &out)
}

// pathTag is the value that a product stores for a category.
type pathTag struct {
	ID   bson.ObjectID `bson:"_id"`
	Path string        `bson:"path"`
}

func (paths) tag(n *node) any { return pathTag{n.ID, n.Path} }

func (p paths) tagged(_ context.Context, n *node, all bool) (bson.D, error) {
	if !all {
		return bson.D{{p.cfg.Field + "._id", n.ID}}, nil
	}
	return bson.D{{p.cfg.Field + ".path", below(n)}}, nil
}

func (p paths) retag(n *node) []mongo.WriteModel {
	stale := bson.D{{p.cfg.Field, bson.D{{"$elemMatch", bson.D{
		{"_id", n.ID}, {"path", bson.D{{"$ne", n.Path}}},
	}}}}}
	return []mongo.WriteModel{mongo.NewUpdateManyModel().SetFilter(stale).
		SetUpdate(bson.D{{"$set", bson.D{{p.cfg.Field + ".$[c].path", n.Path}}}}).
		SetArrayFilters([]any{bson.D{{"c._id", n.ID}}})}
}

func (paths) tagID() string { return "._id" }

func (p paths) indexes() []patterns.Index {
	return []patterns.Index{
		{Collection: p.categories.Name(), Model: mongo.IndexModel{Keys: bson.D{{"path", 1}}}},
		{Collection: p.products.Name(), Model: mongo.IndexModel{Keys: bson.D{{p.cfg.Field + "._id", 1}}}},
		{Collection: p.products.Name(), Model: mongo.IndexModel{Keys: bson.D{{p.cfg.Field + ".path", 1}}}},
	}
}

func unique(keys bson.D) mongo.IndexModel {
	return mongo.IndexModel{Keys: keys, Options: options.Index().SetUnique(true)}
}
