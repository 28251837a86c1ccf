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
	// To lists the recipients of a message. Circles lists the author's circles that may see a post;
	// if it is empty, everybody may see the post.
	To      []string `bson:"to,omitempty"`
	Circles []string `bson:"circles,omitempty"`
	// Pull marks a post without copies: readers query the posts collection for it.
	Pull  bool   `bson:"pull"`
	State string `bson:"state"`
	// Until is the time from which other processes consider the sending or deleting process dead.
	// The field is missing if the letter is complete.
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

// send stores a letter and then copies it to its recipients.
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
	if mongo.IsDuplicateKeyError(err) { // the caller sends the letter again: continue with the stored letter
		err = ch.out.FindOne(ctx, bson.D{{"_id", l.ID}, {"author", l.Author}}).Decode(l)
	}
	if err != nil {
		return fmt.Errorf("social: write %s: %w", l.ID.Hex(), err)
	}
	return n.distribute(ctx, ch, l)
}

// copiesAtOnce is the largest number of copies in one bulk write.
const copiesAtOnce = 500

// distribute copies a letter to its recipients. It may be called any number of times, also by
// several processes at the same time.
func (n *Network) distribute(ctx context.Context, ch channel, l *letter) error {
	if l.State != sending {
		return nil
	}
	err := n.recipients(ctx, l, func(owners []string) error {
		renew := bson.D{{"$set", bson.D{{"until", n.lease()}}}}
		res, err := ch.out.UpdateOne(ctx, bson.D{{"_id", l.ID}, {"state", sending}}, renew)
		if err != nil || res.MatchedCount == 0 { // the letter was deleted, or another process has completed it
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

// recipients calls fn with the recipients of a letter, in batches.
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

// deliver adds a letter to the open buckets of some owners, and creates missing buckets. The unique
// indexes ensure that no owner gets the letter twice or has two open buckets.
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

// push returns the update that adds an item to a bucket.
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

// without returns the owners that do not have the item.
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

// remove marks a letter as deleted and empties its copies. If another process is making copies at
// this moment, Repair finds them.
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

// empty removes the text from all copies of a letter. The items stay, so that no process delivers
// them again.
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
