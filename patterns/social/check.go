package social

import (
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// The rules of Check.
const (
	RuleBucket    = "a bucket has as many items as it says, at most 50, and is open as long as there are fewer"
	RuleOpen      = "a user has one open bucket at most"
	RuleOnce      = "a user has an item once"
	RuleUnread    = "unread items are among those of the bucket"
	RuleFinished  = "what was begun is finished"
	RuleDelivered = "every recipient has the message"
	RuleDeleted   = "there are no copies of what is deleted"
	RuleBlocked   = "those who are kept apart do not follow each other"
)

// finding is a query that finds what contradicts a rule.
type finding struct {
	rule string
	coll *mongo.Collection
	find mongo.Pipeline
}

func match(cond any) bson.D { return bson.D{{Key: "$match", Value: cond}} }

func expr(e any) bson.D { return match(bson.D{{Key: "$expr", Value: e}}) }

func op(name string, args ...any) bson.D { return bson.D{{Key: name, Value: bson.A(args)}} }

func (n *Network) findings() []finding {
	late := match(bson.D{{Key: "until", Value: bson.D{{Key: "$lte", Value: n.Now()}}}})
	out := []finding{
		{RuleBlocked, n.blocks, n.together("from", "to")},
		{RuleBlocked, n.blocks, n.together("to", "from")},
		{RuleDelivered, n.messages.out, mongo.Pipeline{
			match(bson.D{{Key: "state", Value: sent}}),
			bson.D{{Key: "$lookup", Value: bson.D{
				{Key: "from", Value: n.messages.boxes.Name()},
				{Key: "localField", Value: "_id"},
				{Key: "foreignField", Value: "items._id"},
				{Key: "as", Value: "boxes"},
			}}},
			expr(op("$not", op("$setIsSubset", "$to", "$boxes.owner"))),
		}},
	}
	for _, ch := range n.channels() {
		size := op("$size", "$items")
		out = append(out,
			finding{RuleBucket, ch.boxes, mongo.Pipeline{expr(op("$or",
				op("$ne", "$n", size), op("$gt", "$n", BucketSize), op("$ne", "$open", op("$lt", "$n", BucketSize))))}},
			finding{RuleUnread, ch.boxes, mongo.Pipeline{expr(op("$or", op("$lt", "$unread", 0), op("$gt", "$unread", "$n")))}},
			finding{RuleOpen, ch.boxes, mongo.Pipeline{match(bson.D{{Key: "open", Value: true}}), count("$owner"), twice()}},
			finding{RuleOnce, ch.boxes, mongo.Pipeline{
				{{Key: "$unwind", Value: "$items"}},
				count(bson.D{{Key: "owner", Value: "$owner"}, {Key: "item", Value: "$items._id"}}), twice(),
			}},
			finding{RuleFinished, ch.out, mongo.Pipeline{late}},
			finding{RuleDeleted, ch.boxes, n.orphans(ch)})
	}
	return out
}

// together finds blocks of which one user follows the other.
func (n *Network) together(from, to string) mongo.Pipeline {
	follows := expr(op("$and", op("$eq", "$from", "$$a"), op("$eq", "$to", "$$b")))
	return mongo.Pipeline{
		{{Key: "$lookup", Value: bson.D{
			{Key: "from", Value: n.follows.Name()},
			{Key: "let", Value: bson.D{{Key: "a", Value: "$" + from}, {Key: "b", Value: "$" + to}}},
			{Key: "pipeline", Value: mongo.Pipeline{follows}},
			{Key: "as", Value: "follows"},
		}}},
		match(bson.D{{Key: "follows", Value: bson.D{{Key: "$ne", Value: bson.A{}}}}}),
	}
}

func count(by any) bson.D {
	return bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: by}, {Key: "n", Value: bson.D{{Key: "$sum", Value: 1}}}}}}
}

func twice() bson.D { return match(bson.D{{Key: "n", Value: bson.D{{Key: "$gt", Value: 1}}}}) }

// orphans finds copies, by the _id of what they are copies of, that is not there.
func (n *Network) orphans(ch channel) mongo.Pipeline {
	return mongo.Pipeline{
		{{Key: "$unwind", Value: "$items"}},
		match(bson.D{{Key: "items.gone", Value: bson.D{{Key: "$ne", Value: true}}}}),
		{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$items._id"}}}},
		bson.D{{Key: "$lookup", Value: bson.D{
			{Key: "from", Value: ch.out.Name()}, {Key: "localField", Value: "_id"}, {Key: "foreignField", Value: "_id"}, {Key: "as", Value: "of"},
		}}},
		match(bson.D{{Key: "of", Value: bson.A{}}}),
	}
}

// Check reads everything, and lists what contradicts the rules.
func (n *Network) Check(ctx context.Context) (out []patterns.Violation, err error) {
	for _, f := range n.findings() {
		err := each(ctx, f.coll, f.find, func(doc bson.Raw) error {
			v := patterns.Violation{Rule: f.rule, Collection: f.coll.Name(), ID: doc.Lookup("_id"), Detail: doc.String()}
			const longest = 300
			v.Detail = v.Detail[:min(len(v.Detail), longest)]
			out = append(out, v)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("social: check that %s: %w", f.rule, err)
		}
	}
	return out, nil
}

func each(ctx context.Context, coll *mongo.Collection, p mongo.Pipeline, fn func(bson.Raw) error) error {
	cur, err := coll.Aggregate(ctx, p, options.Aggregate().SetAllowDiskUse(true))
	if err != nil {
		return err
	}
	defer func() { _ = cur.Close(ctx) }()
	for cur.Next(ctx) {
		if err := fn(slices.Clone(cur.Current)); err != nil {
			return err
		}
	}
	return cur.Err()
}

// Finish finishes what dead processes have begun to send and to delete, and returns how much that was. It is cheap: call it every minute,
// from as many processes as you like.
func (n *Network) Finish(ctx context.Context) (done int, err error) {
	for _, ch := range n.channels() {
		late := mongo.Pipeline{match(bson.D{{Key: "until", Value: bson.D{{Key: "$lte", Value: n.Now()}}}})}
		err := each(ctx, ch.out, late, func(doc bson.Raw) error {
			done++
			return n.finish(ctx, ch, doc)
		})
		if err != nil {
			return done, fmt.Errorf("social: finish: %w", err)
		}
	}
	return done, nil
}

// Repair does what Finish does, and then reads all copies and blocks, to find what a process left that slept in the middle of a write: copies
// of what is deleted, and followers who were blocked at the moment at which they followed.
func (n *Network) Repair(ctx context.Context) (done int, err error) {
	if done, err = n.Finish(ctx); err != nil {
		return done, err
	}
	for _, ch := range n.channels() {
		err = each(ctx, ch.boxes, n.orphans(ch), func(doc bson.Raw) error {
			done++
			_, err := empty(ctx, ch, doc.Lookup("_id").ObjectID())
			return err
		})
		if err != nil {
			return done, fmt.Errorf("social: repair: %w", err)
		}
	}
	for _, p := range []mongo.Pipeline{n.together("from", "to"), n.together("to", "from")} {
		err = each(ctx, n.blocks, p, func(doc bson.Raw) error {
			done++
			_, err := n.follows.DeleteMany(ctx, either(doc.Lookup("from").StringValue(), doc.Lookup("to").StringValue()))
			return err
		})
		if err != nil {
			return done, fmt.Errorf("social: repair: %w", err)
		}
	}
	return done, nil
}

// finish finishes a letter.
func (n *Network) finish(ctx context.Context, ch channel, doc bson.Raw) error {
	var l letter
	if err := bson.Unmarshal(doc, &l); err != nil {
		return err
	}
	n.Logger.Warn("a letter is finished by another process", "collection", ch.out.Name(), "id", l.ID.Hex(), "state", l.State)
	if l.State != deleting {
		return n.distribute(ctx, ch, &l)
	}
	if _, err := empty(ctx, ch, l.ID); err != nil {
		return err
	}
	_, err := ch.out.DeleteOne(ctx, bson.D{{Key: "_id", Value: l.ID}})
	return err
}
