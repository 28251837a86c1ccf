package social

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// The states of a letter.
const (
	sending  = "sending"
	sent     = "sent"
	deleting = "deleting"
)

// letter is a post or a message as it is stored.
type letter struct {
	ID     bson.ObjectID `bson:"_id"`
	Author string        `bson:"author"`
	At     time.Time     `bson:"at"`
	Text   string        `bson:"text"`
	// To are the recipients of a message, Circles those of the author's who may see a post: all, if
	// there are none.
	To      []string `bson:"to,omitempty"`
	Circles []string `bson:"circles,omitempty"`
	// Pull says that there are no copies: readers come for it.
	Pull  bool   `bson:"pull"`
	State string `bson:"state"`
	// Until is when the process that sends or deletes is taken for dead. It is not there when
	// nothing is left to do.
	Until *time.Time `bson:"until,omitempty"`
}

// Item is a post or a message.
type Item struct {
	ID     bson.ObjectID `bson:"_id"`
	Author string        `bson:"author"`
	At     time.Time     `bson:"at"`
	Text   string        `bson:"text"`
	Gone   bool          `bson:"gone,omitempty"`
}

func (l *letter) item() Item { return Item{ID: l.ID, Author: l.Author, At: l.At, Text: l.Text} }

func (n *Network) lease() *time.Time {
	until := n.env.Now().Add(n.cfg.Lease)
	return &until
}

// send writes a letter down, and then copies it.
func (n *Network) send(ctx context.Context, ch channel, l *letter) error {
	if err := n.ready(ctx); err != nil {
		return err
	}
	if l.ID.IsZero() {
		l.ID = bson.NewObjectID()
	}
	l.At, l.State, l.Until = n.env.Now(), sending, n.lease()
	if l.Pull {
		l.State, l.Until = sent, nil
	}
	_, err := ch.out.InsertOne(ctx, l)
	if mongo.IsDuplicateKeyError(err) { // it is sent again: as it was written down
		err = ch.out.FindOne(ctx, bson.D{{"_id", l.ID}, {"author", l.Author}}).Decode(l)
	}
	if err != nil {
		return fmt.Errorf("social: write %s: %w", l.ID.Hex(), err)
	}
	return n.distribute(ctx, ch, l)
}

// copiesAtOnce bounds the size of a bulk write.
const copiesAtOnce = 500

// distribute copies a letter to its recipients. It may be done any number of times, by several at
// once.
func (n *Network) distribute(ctx context.Context, ch channel, l *letter) error {
	if l.State != sending {
		return nil
	}
	err := n.recipients(ctx, l, func(owners []string) error {
		renew := bson.D{{"$set", bson.D{{"until", n.lease()}}}}
		res, err := ch.out.UpdateOne(ctx, bson.D{{"_id", l.ID}, {"state", sending}}, renew)
		if err != nil || res.MatchedCount == 0 { // it was deleted, or somebody else has sent it
			return err
		}
		return n.deliver(ctx, ch, l, owners)
	})
	if err != nil {
		return fmt.Errorf("social: send %s: %w", l.ID.Hex(), err)
	}
	done := bson.D{
		{"$set", bson.D{{"state", sent}}}, {"$unset", bson.D{{"until", ""}}},
	}
	if _, err = ch.out.UpdateOne(ctx, bson.D{{"_id", l.ID}, {"state", sending}}, done); err != nil {
		return fmt.Errorf("social: send %s: %w", l.ID.Hex(), err)
	}
	return nil
}

// recipients calls fn with those that a letter is for, some at a time.
func (n *Network) recipients(ctx context.Context, l *letter, fn func(owners []string) error) error {
	if len(l.To) > 0 {
		for owners := range slices.Chunk(l.To, copiesAtOnce) {
			if err := fn(owners); err != nil {
				return err
			}
		}
		return nil
	}
	filter := bson.D{{"to", l.Author}}
	if len(l.Circles) > 0 {
		filter = append(filter, bson.E{"circles", bson.D{{"$in", l.Circles}}})
	}
	cur, err := n.follows.Find(ctx, filter, options.Find().SetProjection(bson.D{{"from", 1}}))
	if err != nil {
		return err
	}
	defer func() { _ = cur.Close(ctx) }()
	var owners []string
	for cur.Next(ctx) {
		owners = append(owners, cur.Current.Lookup("from").StringValue())
		if len(owners) == copiesAtOnce {
			if err := fn(owners); err != nil {
				return err
			}
			owners = nil
		}
	}
	if err := cur.Err(); err != nil || len(owners) == 0 {
		return err
	}
	return fn(owners)
}

// deliver puts a letter into the open buckets of some owners, which are made where there are none.
// The indexes let no owner have it twice, nor two open buckets.
func (n *Network) deliver(ctx context.Context, ch channel, l *letter, owners []string) error {
	for len(owners) > 0 {
		writes := make([]mongo.WriteModel, len(owners))
		for i, owner := range owners {
			filter := bson.D{
				{"owner", owner}, {"open", true}, {"items._id", bson.D{{"$ne", l.ID}}},
			}
			writes[i] = mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(push(l.item())).SetUpsert(true)
		}
		_, err := ch.boxes.BulkWrite(ctx, writes, options.BulkWrite().SetOrdered(false))
		failed := mongo.BulkWriteException{}
		if err != nil && (!errors.As(err, &failed) || failed.WriteConcernError != nil) {
			return err
		}
		var left []string
		for _, e := range failed.WriteErrors {
			if !mongo.IsDuplicateKeyError(e) {
				return err
			}
			left = append(left, owners[e.Index])
		}
		n.env.Metrics.Add("social.copies", int64(len(owners)-len(left)))
		if owners, err = n.without(ctx, ch, l.ID, left); err != nil {
			return err
		}
	}
	return nil
}

// push is the update that adds an item to a bucket.
func push(it Item) mongo.Pipeline {
	plus := func(field string) bson.D {
		return bson.D{{"$add", bson.A{bson.D{{"$ifNull", bson.A{"$" + field, 0}}}, 1}}}
	}
	return mongo.Pipeline{
		{{"$set", bson.D{
			{"n", plus("n")},
			{"unread", plus("unread")},
			{"items", bson.D{{"$concatArrays", bson.A{
				bson.D{{"$ifNull", bson.A{"$items", bson.A{}}}}, bson.A{bson.D{{"$literal", it}}},
			}}}},
		}}},
		{{"$set", bson.D{{"open", bson.D{{"$lt", bson.A{"$n", BucketSize}}}}}}},
	}
}

// without returns the owners that do not have an item.
func (n *Network) without(ctx context.Context, ch channel, id bson.ObjectID, owners []string) ([]string, error) {
	if len(owners) == 0 {
		return nil, nil
	}
	var have []string
	filter := bson.D{{"owner", bson.D{{"$in", owners}}}, {"items._id", id}}
	if err := ch.boxes.Distinct(ctx, "owner", filter).Decode(&have); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(owners, func(o string) bool { return slices.Contains(have, o) }), nil
}

// remove marks a letter as deleted, and makes its copies empty. What another process copies at this
// moment is found by Repair.
func (n *Network) remove(ctx context.Context, ch channel, author string, id bson.ObjectID) error {
	mark := bson.D{{"$set", bson.D{
		{"state", deleting}, {"until", n.lease()}, {"text", ""},
	}}}
	res, err := ch.out.UpdateOne(ctx, bson.D{{"_id", id}, {"author", author}}, mark)
	if err != nil {
		return fmt.Errorf("social: delete %s: %w", id.Hex(), err)
	}
	if res.MatchedCount == 0 {
		return ErrNotFound
	}
	_, err = empty(ctx, ch, id)
	return err
}

// empty takes the text out of all copies. The items stay, so that nobody delivers them again.
func empty(ctx context.Context, ch channel, id bson.ObjectID) (int64, error) {
	gone := bson.D{
		{"$set", bson.D{{"items.$[i].gone", true}, {"items.$[i].text", ""}}},
	}
	opts := options.UpdateMany().SetArrayFilters([]any{bson.D{{"i._id", id}}})
	res, err := ch.boxes.UpdateMany(ctx, bson.D{{"items._id", id}}, gone, opts)
	if err != nil {
		return 0, fmt.Errorf("social: delete the copies of %s: %w", id.Hex(), err)
	}
	return res.ModifiedCount, nil
}
