package comments

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// documents stores each comment as a document of its own.
type documents struct{ *Comments }

// document is a comment with its target.
type document struct {
	Comment `bson:",inline"`
	Target  Target `bson:"target"`
}

func (d documents) insert(ctx context.Context, on Target, c *Comment) error {
	_, err := d.coll.InsertOne(ctx, document{*c, on})
	return err
}

func one(on Target, id ID) bson.D { return bson.D{{"_id", id}, {"target", on}} }

func (d documents) find(ctx context.Context, on Target, id ID) (*Comment, error) {
	var c Comment
	return &c, d.coll.FindOne(ctx, one(on, id)).Decode(&c)
}

func (d documents) change(ctx context.Context, on Target, id ID, fields bson.D) (bool, error) {
	live := append(one(on, id), bson.E{"deleted", nil})
	res, err := d.coll.UpdateOne(ctx, live, bson.D{{"$set", fields}})
	return err == nil && res.MatchedCount > 0, err
}

func (d documents) page(ctx context.Context, on Target, r Range) ([]Comment, error) {
	filter := bson.D{{"target", on}}
	if r.After != "" {
		if _, err := d.find(ctx, on, r.After); err != nil {
			return nil, err
		}
		filter = append(filter, bson.E{"_id", bson.D{{"$gt", r.After}}})
		r.Skip = 0
	}
	return d.list(ctx, filter, "_id", r)
}

func (d documents) thread(ctx context.Context, on Target, root string, r Range) ([]Comment, error) {
	var within bson.D
	if root != "" {
		// A digit of an ID is greater than a slash. So all paths below root begin with root and a
		// slash, and are less than root + "0".
		within = bson.D{{"$gte", root}, {"$lt", root + "0"}}
	}
	if r.After != "" {
		after, err := d.find(ctx, on, r.After)
		if err != nil {
			return nil, err
		}
		within = append(within, bson.E{"$gt", after.Path})
		r.Skip = 0
	}
	filter := bson.D{{"target", on}}
	if within != nil {
		filter = append(filter, bson.E{"path", within})
	}
	return d.list(ctx, filter, "path", r)
}

func (d documents) list(ctx context.Context, filter bson.D, order string, r Range) ([]Comment, error) {
	cur, err := d.coll.Find(ctx, filter,
		options.Find().SetSort(bson.D{{order, 1}}).SetSkip(int64(r.Skip)).SetLimit(int64(r.Limit)))
	if err != nil {
		return nil, err
	}
	var out []Comment
	return out, cur.All(ctx, &out)
}

func (d documents) count(ctx context.Context, on Target) (int64, error) {
	return d.coll.CountDocuments(ctx, bson.D{{"target", on}, {"deleted", nil}})
}

func (d documents) check(ctx context.Context, visit func(Target, []Comment), _ func(string, any, string)) error {
	cur, err := d.coll.Find(ctx, bson.D{}, options.Find().SetSort(bson.D{{"target", 1}, {"_id", 1}}))
	if err != nil {
		return err
	}
	defer func() { _ = cur.Close(ctx) }()
	var all []Comment
	var last bson.RawValue
	var on Target
	for cur.Next(ctx) {
		var doc document
		if err := cur.Decode(&doc); err != nil {
			return err
		}
		if target := cur.Current.Lookup("target"); !target.Equal(last) {
			if all != nil {
				visit(on, all)
			}
			all, on = nil, doc.Target
			last = bson.RawValue{Type: target.Type, Value: append([]byte(nil), target.Value...)}
		}
		all = append(all, doc.Comment)
	}
	if all != nil {
		visit(on, all)
	}
	return cur.Err()
}

func (d documents) indexes() []patterns.Index {
	return []patterns.Index{
		{Collection: d.coll.Name(), Model: mongo.IndexModel{Keys: bson.D{{"target", 1}, {"_id", 1}, {"deleted", 1}}}},
		{Collection: d.coll.Name(), Model: mongo.IndexModel{Keys: bson.D{{"target", 1}, {"path", 1}}}},
	}
}

func (documents) shardKey() bson.D { return bson.D{{"target", 1}, {"_id", 1}} }
