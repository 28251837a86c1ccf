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

// Copies is the consistency fixer: a task that compares copied fields with their originals in
// another collection, and corrects them. A value that records a point in time, such as the price in
// an order, is not a copy in this sense.
type Copies struct {
	// From is the collection with the original values.
	From string
	// Into is the collection whose documents hold copies. Ref is the field in which such a document
	// stores the _id of the original document. Ref must not be an array. Documents without Ref, or
	// with a null Ref, hold no copies.
	Into, Ref string
	// Fields maps the path of an original field in From to the path of its copy in Into. No path
	// may lead through an array.
	Fields map[string]string
}

// copiesAtOnce is the largest number of corrections in one bulk write.
const copiesAtOnce = 1000

// stale is a document with wrong copies. Values that do not exist are null or missing.
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

// paths returns the copied fields in a fixed order.
func (c Copies) paths() []string { return slices.Sorted(maps.Keys(c.Fields)) }

func (c Copies) pipeline() mongo.Pipeline {
	var have, want bson.D
	differ := bson.A{bson.D{{"$eq", bson.A{"$source", bson.A{}}}}}
	for i, from := range c.paths() {
		name := fmt.Sprint("f", i)
		have = append(have, bson.E{name, "$" + c.Fields[from]})
		want = append(want, bson.E{name, "$$one." + from})
	}
	one := func(fields bson.D) bson.D {
		return bson.D{{"$let", bson.D{
			{"vars", bson.D{{"one", bson.D{{"$arrayElemAt", bson.A{"$source", 0}}}}}},
			{"in", fields},
		}}}
	}
	differ = append(differ, bson.D{{"$ne", bson.A{have, one(want)}}})
	return mongo.Pipeline{
		{{"$match", bson.D{{c.Ref, bson.D{{"$ne", nil}}}}}},
		{{"$lookup", bson.D{
			{"from", c.From}, {"localField", c.Ref}, {"foreignField", "_id"}, {"as", "source"},
		}}},
		{{"$match", bson.D{{"$expr", bson.D{{"$or", differ}}}}}},
		{{"$project", bson.D{
			{"ref", "$" + c.Ref},
			{"found", bson.D{{"$ne", bson.A{"$source", bson.A{}}}}},
			{"have", one(have)},
			{"want", one(want)},
		}}},
	}
}

// correct returns the update that corrects the copies of a document. It applies only if the copies
// are unchanged since the task read them: a value that somebody wrote meanwhile is newer.
func (c Copies) correct(s stale) mongo.WriteModel {
	filter := bson.D{{"_id", s.ID}, {c.Ref, s.Ref}}
	var set, unset bson.D
	for i, from := range c.paths() {
		name, to := fmt.Sprint("f", i), c.Fields[from]
		if have, err := s.Have.LookupErr(name); err == nil {
			filter = append(filter, bson.E{to, bson.D{{"$eq", have}}})
		} else {
			filter = append(filter, bson.E{to, bson.D{{"$exists", false}}})
		}
		if want, err := s.Want.LookupErr(name); err == nil {
			set = append(set, bson.E{to, want})
		} else {
			unset = append(unset, bson.E{to, ""})
		}
	}
	var update bson.D
	if len(set) > 0 {
		update = append(update, bson.E{"$set", set})
	}
	if len(unset) > 0 {
		update = append(update, bson.E{"$unset", unset})
	}
	return mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(update)
}
