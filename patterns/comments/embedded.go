package comments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// embedded stores all comments of a target in one document, whose _id is the target.
type embedded struct{ *Comments }

type discussion struct {
	Target   Target    `bson:"_id"`
	Count    int       `bson:"count"`
	Comments []Comment `bson:"comments"`
}

func of(on Target) bson.D { return bson.D{{"_id", on}} }

func (e embedded) insert(ctx context.Context, on Target, c *Comment) error {
	room := append(of(on), bson.E{"count", bson.D{{"$lt", e.cfg.Limit}}})
	_, err := e.coll.UpdateOne(ctx, room, bson.D{
		{"$push", bson.D{{"comments", c}}},
		{"$inc", bson.D{{"count", 1}}},
	}, options.UpdateOne().SetUpsert(true))
	if !mongo.IsDuplicateKeyError(err) {
		return err
	}
	// The document is full, or another process has created it at this moment.
	full, err := e.coll.CountDocuments(ctx, append(of(on), bson.E{"count", bson.D{{"$gte", e.cfg.Limit}}}))
	switch {
	case err != nil:
		return err
	case full > 0:
		return ErrFull
	default:
		return e.insert(ctx, on, c)
	}
}

func (e embedded) find(ctx context.Context, on Target, id ID) (*Comment, error) {
	return first(ctx, e.coll, append(of(on), bson.E{"comments._id", id}))
}

// first returns the comment in an array that the filter selects.
func first(ctx context.Context, coll *mongo.Collection, filter bson.D) (*Comment, error) {
	var doc discussion
	err := coll.FindOne(ctx, filter,
		options.FindOne().SetProjection(bson.D{{"_id", 0}, {"comments.$", 1}})).Decode(&doc)
	if err != nil {
		return nil, err
	}
	return &doc.Comments[0], nil
}

func (e embedded) change(ctx context.Context, on Target, id ID, fields bson.D) (bool, error) {
	return changeIn(ctx, e.coll, of(on), id, fields)
}

// changeIn sets fields of a comment in an array.
func changeIn(ctx context.Context, coll *mongo.Collection, filter bson.D, id ID, fields bson.D) (bool, error) {
	set := make(bson.D, len(fields))
	for i, f := range fields {
		set[i] = bson.E{"comments.$." + f.Key, f.Value}
	}
	live := bson.D{{"_id", id}, {"deleted", nil}}
	filter = append(filter, bson.E{"comments", bson.D{{"$elemMatch", live}}})
	res, err := coll.UpdateOne(ctx, filter, bson.D{{"$set", set}})
	return err == nil && res.MatchedCount > 0, err
}

// page lets the server return only the wanted part of the array.
func (e embedded) page(ctx context.Context, on Target, r Range) ([]Comment, error) {
	var from any = r.Skip
	filter := of(on)
	if r.After != "" {
		filter = append(filter, bson.E{"comments._id", r.After})
		at := bson.D{{"$indexOfArray", bson.A{"$comments._id", r.After}}}
		from = bson.D{{"$add", bson.A{at, 1}}}
	}
	cur, err := e.coll.Aggregate(ctx, mongo.Pipeline{
		{{"$match", filter}},
		{{"$project", bson.D{{"comments", bson.D{{"$slice", bson.A{"$comments", from, r.Limit}}}}}}},
	})
	if err != nil {
		return nil, err
	}
	var docs []discussion
	err = cur.All(ctx, &docs)
	switch {
	case err != nil:
		return nil, err
	case len(docs) > 0:
		return docs[0].Comments, nil
	case r.After != "":
		return nil, mongo.ErrNoDocuments
	default:
		return nil, nil
	}
}

func (e embedded) thread(ctx context.Context, on Target, root string, r Range) ([]Comment, error) {
	var doc discussion
	err := e.coll.FindOne(ctx, of(on)).Decode(&doc)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return threaded(doc.Comments, root, r)
}

// threaded sorts all comments of a target as a thread, and returns the part that the range selects.
func threaded(all []Comment, root string, r Range) ([]Comment, error) {
	all = slices.DeleteFunc(all, func(c Comment) bool {
		return root != "" && c.Path != root && !strings.HasPrefix(c.Path, root+"/")
	})
	slices.SortFunc(all, func(a, b Comment) int { return strings.Compare(a.Path, b.Path) })
	if r.After != "" {
		at := slices.IndexFunc(all, func(c Comment) bool { return c.ID == r.After })
		if at < 0 {
			return nil, mongo.ErrNoDocuments
		}
		r.Skip = at + 1
	}
	return cut(all, r), nil
}

func cut(all []Comment, r Range) []Comment {
	all = all[min(r.Skip, len(all)):]
	return all[:min(r.Limit, len(all))]
}

// live returns the expression for the number of comments in an array that are not deleted.
func live() bson.D {
	return bson.D{{"$size", bson.D{{"$filter", bson.D{
		{"input", "$comments"},
		{"cond", bson.D{{"$not", bson.A{"$$this.deleted"}}}},
	}}}}}
}

func (e embedded) count(ctx context.Context, on Target) (int64, error) {
	return countIn(ctx, e.coll, of(on))
}

func countIn(ctx context.Context, coll *mongo.Collection, filter bson.D) (int64, error) {
	cur, err := coll.Aggregate(ctx, mongo.Pipeline{
		{{"$match", filter}},
		{{"$group", bson.D{{"_id", nil}, {"n", bson.D{{"$sum", live()}}}}}},
	})
	if err != nil {
		return 0, err
	}
	var rows []struct {
		N int64 `bson:"n"`
	}
	if err := cur.All(ctx, &rows); err != nil || len(rows) == 0 {
		return 0, err
	}
	return rows[0].N, nil
}

func (e embedded) check(ctx context.Context, visit func(Target, []Comment), violate func(string, any, string)) error {
	return patterns.EachOf(ctx, e.coll, func(doc *discussion) {
		if doc.Count != len(doc.Comments) {
			violate(RuleCount, doc.Target, fmt.Sprintf("%d comments, counted as %d", len(doc.Comments), doc.Count))
		}
		if len(doc.Comments) > e.cfg.Limit {
			violate(RuleFull, doc.Target, fmt.Sprintf("%d comments of %d", len(doc.Comments), e.cfg.Limit))
		}
		visit(doc.Target, doc.Comments)
	})
}

func (embedded) indexes() []patterns.Index { return nil }

func (embedded) shardKey() bson.D { return bson.D{{"_id", "hashed"}} }
