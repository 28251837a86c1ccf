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

// These are the rules whose violations Check lists.
const (
	RuleBucket    = "a bucket has as many items as it says, at most 50, and is open as long as there are fewer"
	RuleOpen      = "a user has one open bucket at most"
	RuleOnce      = "a user has an item once"
	RuleUnread    = "unread items are items of the bucket"
	RuleFinished  = "what was begun is finished"
	RuleDelivered = "every recipient has the message"
	RuleDeleted   = "deleted posts have no copies"
	RuleBlocked   = "users separated by a block do not follow each other"
)

// finding is a query that returns the documents that violate a rule.
type finding struct {
	rule string
	coll *mongo.Collection
	find mongo.Pipeline
}

func match(cond any) bson.D { return bson.D{{"$match", cond}} }

func expr(e any) bson.D { return match(bson.D{{"$expr", e}}) }

func op(name string, args ...any) bson.D { return bson.D{{name, bson.A(args)}} }

func (n *Network) findings() []finding {
	late := match(bson.D{{"until", bson.D{{"$lte", n.env.Now()}}}})
	out := []finding{
		{RuleBlocked, n.blocks, n.together("from", "to")},
		{RuleBlocked, n.blocks, n.together("to", "from")},
		{RuleDelivered, n.messages.out, mongo.Pipeline{
			match(bson.D{{"state", sent}}),
			bson.D{{"$lookup", bson.D{
				{"from", n.messages.boxes.Name()},
				{"localField", "_id"},
				{"foreignField", "items._id"},
				{"as", "boxes"},
			}}},
			expr(op("$not", op("$setIsSubset", "$to", "$boxes.owner"))),
		}},
	}
	for _, ch := range n.channels() {
		size := op("$size", "$items")
		out = append(out,
			finding{RuleBucket, ch.boxes, mongo.Pipeline{expr(op("$or",
				op("$ne", "$n", size), op("$gt", "$n", BucketSize), op("$ne", "$open", op("$lt", "$n", BucketSize))))}},
			finding{
				RuleUnread, ch.boxes,
				mongo.Pipeline{expr(op("$or", op("$lt", "$unread", 0), op("$gt", "$unread", "$n")))},
			},
			finding{RuleOpen, ch.boxes, mongo.Pipeline{match(bson.D{{"open", true}}), count("$owner"), twice()}},
			finding{RuleOnce, ch.boxes, mongo.Pipeline{
				{{"$unwind", "$items"}},
				count(bson.D{{"owner", "$owner"}, {"item", "$items._id"}}), twice(),
			}},
			finding{RuleFinished, ch.out, mongo.Pipeline{late}},
			finding{RuleDeleted, ch.boxes, n.orphans(ch)})
	}
	return out
}

// together returns a query for blocks where one of the two users still follows the other.
func (n *Network) together(from, to string) mongo.Pipeline {
	follows := expr(op("$and", op("$eq", "$from", "$$a"), op("$eq", "$to", "$$b")))
	return mongo.Pipeline{
		{{"$lookup", bson.D{
			{"from", n.follows.Name()},
			{"let", bson.D{{"a", "$" + from}, {"b", "$" + to}}},
			{"pipeline", mongo.Pipeline{follows}},
			{"as", "follows"},
		}}},
		match(bson.D{{"follows", bson.D{{"$ne", bson.A{}}}}}),
	}
}

func count(by any) bson.D {
	return bson.D{{"$group", bson.D{{"_id", by}, {"n", bson.D{{"$sum", 1}}}}}}
}

func twice() bson.D { return match(bson.D{{"n", bson.D{{"$gt", 1}}}}) }

// orphans returns a query for the _ids of copied letters that no longer exist.
func (n *Network) orphans(ch channel) mongo.Pipeline {
	return mongo.Pipeline{
		{{"$unwind", "$items"}},
		match(bson.D{{"items.gone", bson.D{{"$ne", true}}}}),
		{{"$group", bson.D{{"_id", "$items._id"}}}},
		bson.D{{"$lookup", bson.D{
			{"from", ch.out.Name()}, {"localField", "_id"}, {"foreignField", "_id"}, {"as", "of"},
		}}},
		match(bson.D{{"of", bson.A{}}}),
	}
}

// Check reads all collections and lists the violations of the rules.
func (n *Network) Check(ctx context.Context) (out []patterns.Violation, err error) {
	for _, f := range n.findings() {
		err := each(ctx, f.coll, f.find, func(doc bson.Raw) error {
			v := patterns.Violation{
				Rule: f.rule, Collection: f.coll.Name(),
				ID: doc.Lookup("_id"), Detail: doc.String(),
			}
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

// Finish completes letters that dead processes have begun to send or to delete, and returns their
// number. It is cheap: call it every minute, from any number of processes.
func (n *Network) Finish(ctx context.Context) (done int, err error) {
	for _, ch := range n.channels() {
		late := mongo.Pipeline{match(bson.D{{"until", bson.D{{"$lte", n.env.Now()}}}})}
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

// Repair does the work of Finish, and then reads all copies and blocks. A process that slept in the
// middle of a write can leave copies of deleted letters, and followers that were blocked while they
// began to follow. Repair removes them.
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
			_, err := n.follows.DeleteMany(ctx,
				either(doc.Lookup("from").StringValue(), doc.Lookup("to").StringValue()))
			return err
		})
		if err != nil {
			return done, fmt.Errorf("social: repair: %w", err)
		}
	}
	return done, nil
}

// finish completes the sending or the deletion of a letter.
func (n *Network) finish(ctx context.Context, ch channel, doc bson.Raw) error {
	var l letter
	if err := bson.Unmarshal(doc, &l); err != nil {
		return err
	}
	n.env.Logger.Warn("a letter is finished by another process", "collection", ch.out.Name(),
		"id", l.ID.Hex(), "state", l.State)
	if l.State != deleting {
		return n.distribute(ctx, ch, &l)
	}
	if _, err := empty(ctx, ch, l.ID); err != nil {
		return err
	}
	_, err := ch.out.DeleteOne(ctx, bson.D{{"_id", l.ID}})
	return err
}
