package schema

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Copies is the consistency fixer: a task that compares what documents hold of others with the truth, and corrects it. What is of a point
// in time, such as the price in an order, is no copy in this sense.
type Copies struct {
	// From is the collection that has the truth.
	From string
	// Into is the collection whose documents have copies; Ref is the field in which they have the _id of what they copy, which is
	// no array; those that have none, or null, copy nothing.
	Into, Ref string
	// Fields are the copied fields: their paths in Into by their paths in From. None of them is inside of an array.
	Fields map[string]string
}

// copiesAtOnce bounds the size of a bulk write.
const copiesAtOnce = 1000

// stale is a document whose copies differ. Values that do not exist are null or missing.
type stale struct {
	ID    bson.RawValue `bson:"_id"`
	Ref   bson.RawValue `bson:"ref"`
	Found bool          `bson:"found"`
	Have  bson.Raw      `bson:"have"`
	Want  bson.Raw      `bson:"want"`
}

// Run implements Task.
func (c Copies) Run(ctx context.Context, db *mongo.Database, _ patterns.Env) (r Report, err error) {
	coll := db.Collection(c.Into)
	cur, err := coll.Aggregate(ctx, c.pipeline(), options.Aggregate().SetAllowDiskUse(true))
	if err != nil {
		return r, fmt.Errorf("schema: compare %s with %s: %w", c.Into, c.From, err)
	}
	defer func() { _ = cur.Close(ctx) }()
	var writes []mongo.WriteModel
	write := func() error {
		if len(writes) == 0 {
			return nil
		}
		res, err := coll.BulkWrite(ctx, writes, options.BulkWrite().SetOrdered(false))
		if err != nil {
			return fmt.Errorf("schema: correct the copies in %s: %w", c.Into, err)
		}
		r.Changed += res.ModifiedCount
		writes = nil
		return nil
	}
	for cur.Next(ctx) {
		var s stale
		if err := bson.Unmarshal(slices.Clone(cur.Current), &s); err != nil {
			return r, fmt.Errorf("schema: compare %s with %s: %w", c.Into, c.From, err)
		}
		if !s.Found {
			detail := fmt.Sprintf("there is no %v in %s", s.Ref, c.From)
			r.violate(patterns.Violation{Rule: RuleReference, Collection: c.Into, ID: s.ID, Detail: detail})
			continue
		}
		if writes = append(writes, c.correct(s)); len(writes) == copiesAtOnce {
			if err := write(); err != nil {
				return r, err
			}
		}
	}
	if err := cur.Err(); err != nil {
		return r, fmt.Errorf("schema: compare %s with %s: %w", c.Into, c.From, err)
	}
	return r, write()
}

// paths returns the copied fields in one order.
func (c Copies) paths() []string { return slices.Sorted(maps.Keys(c.Fields)) }

func (c Copies) pipeline() mongo.Pipeline {
	var have, want bson.D
	differ := bson.A{bson.D{{Key: "$eq", Value: bson.A{"$source", bson.A{}}}}}
	for i, from := range c.paths() {
		name := fmt.Sprint("f", i)
		have = append(have, bson.E{Key: name, Value: "$" + c.Fields[from]})
		want = append(want, bson.E{Key: name, Value: "$$one." + from})
	}
	one := func(fields bson.D) bson.D {
		return bson.D{{Key: "$let", Value: bson.D{
			{Key: "vars", Value: bson.D{{Key: "one", Value: bson.D{{Key: "$arrayElemAt", Value: bson.A{"$source", 0}}}}}},
			{Key: "in", Value: fields},
		}}}
	}
	differ = append(differ, bson.D{{Key: "$ne", Value: bson.A{have, one(want)}}})
	return mongo.Pipeline{
		{{Key: "$match", Value: bson.D{{Key: c.Ref, Value: bson.D{{Key: "$ne", Value: nil}}}}}},
		{{Key: "$lookup", Value: bson.D{
			{Key: "from", Value: c.From}, {Key: "localField", Value: c.Ref}, {Key: "foreignField", Value: "_id"}, {Key: "as", Value: "source"},
		}}},
		{{Key: "$match", Value: bson.D{{Key: "$expr", Value: bson.D{{Key: "$or", Value: differ}}}}}},
		{{Key: "$project", Value: bson.D{
			{Key: "ref", Value: "$" + c.Ref},
			{Key: "found", Value: bson.D{{Key: "$ne", Value: bson.A{"$source", bson.A{}}}}},
			{Key: "have", Value: one(have)},
			{Key: "want", Value: one(want)},
		}}},
	}
}

// correct sets the copies of a document, if they are still as they were seen: what somebody wrote meanwhile is newer.
func (c Copies) correct(s stale) mongo.WriteModel {
	filter := bson.D{{Key: "_id", Value: s.ID}, {Key: c.Ref, Value: s.Ref}}
	var set, unset bson.D
	for i, from := range c.paths() {
		name, to := fmt.Sprint("f", i), c.Fields[from]
		if have, err := s.Have.LookupErr(name); err == nil {
			filter = append(filter, bson.E{Key: to, Value: bson.D{{Key: "$eq", Value: have}}})
		} else {
			filter = append(filter, bson.E{Key: to, Value: bson.D{{Key: "$exists", Value: false}}})
		}
		if want, err := s.Want.LookupErr(name); err == nil {
			set = append(set, bson.E{Key: to, Value: want})
		} else {
			unset = append(unset, bson.E{Key: to, Value: ""})
		}
	}
	var update bson.D
	if len(set) > 0 {
		update = append(update, bson.E{Key: "$set", Value: set})
	}
	if len(unset) > 0 {
		update = append(update, bson.E{Key: "$unset", Value: unset})
	}
	return mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(update)
}
