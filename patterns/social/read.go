package social

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Post is a text that a user writes to followers.
type Post struct {
	// ID is generated if zero. A caller that sets it can send a post again after a lost reply: the
	// post is delivered only once.
	ID           bson.ObjectID
	Author, Text string
	// Circles lists the author's circles that may see the post. If it is empty, everybody may see
	// it.
	Circles []string
}

// Post publishes a post. When it returns the post's ID, the post is in the feeds of all followers.
func (n *Network) Post(ctx context.Context, p Post) (bson.ObjectID, error) {
	if len(p.Text) > MaxText || len(p.Circles) > MaxRecipients {
		return bson.ObjectID{}, ErrTooLong
	}
	many := options.Count().SetLimit(int64(n.cfg.PushLimit) + 1)
	followers, err := n.follows.CountDocuments(ctx, bson.D{{"to", p.Author}}, many)
	if err != nil {
		return bson.ObjectID{}, fmt.Errorf("social: followers of %s: %w", p.Author, err)
	}
	l := &letter{ID: p.ID, Author: p.Author, Text: p.Text, Circles: p.Circles, Pull: followers > int64(n.cfg.PushLimit)}
	err = n.send(ctx, n.posts, l)
	return l.ID, err
}

// DeletePost deletes a post and its copies.
func (n *Network) DeletePost(ctx context.Context, author string, id bson.ObjectID) error {
	return n.remove(ctx, n.posts, author, id)
}

// Message is a text that a user writes to some other users.
type Message struct {
	// ID is generated if zero. A caller that sets it can send a message again, as with Post.
	ID         bson.ObjectID
	From, Text string
	To         []string
}

// Send sends a message. When it returns the message's ID, the message is in the inboxes of all
// recipients that have not blocked the sender. It returns ErrBlocked if all recipients have blocked
// the sender.
func (n *Network) Send(ctx context.Context, m Message) (bson.ObjectID, error) {
	to := slices.Compact(slices.Sorted(slices.Values(m.To)))
	if len(m.Text) > MaxText || len(to) > MaxRecipients {
		return bson.ObjectID{}, ErrTooLong
	}
	var by []string
	filter := bson.D{{"from", bson.D{{"$in", to}}}, {"to", m.From}}
	if err := n.blocks.Distinct(ctx, "from", filter).Decode(&by); err != nil {
		return bson.ObjectID{}, fmt.Errorf("social: who has blocked %s: %w", m.From, err)
	}
	to = slices.DeleteFunc(to, func(o string) bool { return slices.Contains(by, o) })
	if len(to) == 0 {
		return bson.ObjectID{}, ErrBlocked
	}
	l := &letter{ID: m.ID, Author: m.From, Text: m.Text, To: to}
	err := n.send(ctx, n.messages, l)
	return l.ID, err
}

// DeleteMessage deletes a message from all inboxes.
func (n *Network) DeleteMessage(ctx context.Context, from string, id bson.ObjectID) error {
	return n.remove(ctx, n.messages, from, id)
}

// Inbox returns the latest messages to a user, the latest first. It reads the two newest buckets of
// the inbox, and so returns at most 2 * BucketSize messages.
func (n *Network) Inbox(ctx context.Context, user string) ([]Item, error) {
	return n.latest(ctx, n.messages, user)
}

// latest reads the two newest buckets.
func (n *Network) latest(ctx context.Context, ch channel, owner string) ([]Item, error) {
	opts := options.Find().SetSort(bson.D{{"_id", -1}}).SetLimit(2)
	cur, err := ch.boxes.Find(ctx, bson.D{{"owner", owner}}, opts)
	if err != nil {
		return nil, fmt.Errorf("social: read what %s has got: %w", owner, err)
	}
	var buckets []struct{ Items []Item }
	if err := cur.All(ctx, &buckets); err != nil {
		return nil, fmt.Errorf("social: read what %s has got: %w", owner, err)
	}
	var out []Item
	for _, b := range buckets {
		slices.Reverse(b.Items)
		for _, it := range b.Items {
			if !it.Gone {
				out = append(out, it)
			}
		}
	}
	return out, nil
}

// Unread returns the number of messages, and of posts in the feed, that have arrived since
// MarkRead. Messages and posts that were deleted meanwhile count.
func (n *Network) Unread(ctx context.Context, user string) (messages, posts int64, err error) {
	var sums [2]int64
	for i, ch := range []channel{n.messages, n.posts} {
		cur, err := ch.boxes.Aggregate(ctx, mongo.Pipeline{
			{{"$match", bson.D{{"owner", user}}}},
			{{"$group", bson.D{{"_id", nil}, {"n", bson.D{{"$sum", "$unread"}}}}}},
		})
		if err != nil {
			return 0, 0, fmt.Errorf("social: unread of %s: %w", user, err)
		}
		var rows []struct{ N int64 }
		if err := cur.All(ctx, &rows); err != nil {
			return 0, 0, fmt.Errorf("social: unread of %s: %w", user, err)
		}
		if len(rows) > 0 {
			sums[i] = rows[0].N
		}
	}
	return sums[0], sums[1], nil
}

// MarkRead marks all messages and posts of a user as read.
func (n *Network) MarkRead(ctx context.Context, user string) error {
	for _, ch := range n.channels() {
		filter := bson.D{{"owner", user}, {"unread", bson.D{{"$gt", 0}}}}
		if _, err := ch.boxes.UpdateMany(ctx, filter, bson.D{{"$set", bson.D{{"unread", 0}}}}); err != nil {
			return fmt.Errorf("social: mark as read: %w", err)
		}
	}
	return nil
}

// Feed returns the latest posts of the users that a user follows, the latest first. It includes the
// copied posts, and the posts of authors with too many followers for copies.
func (n *Network) Feed(ctx context.Context, user string) ([]Item, error) {
	cur, err := n.follows.Find(ctx, bson.D{{"from", user}})
	if err != nil {
		return nil, fmt.Errorf("social: whom %s follows: %w", user, err)
	}
	var follows []follow
	if err := cur.All(ctx, &follows); err != nil {
		return nil, fmt.Errorf("social: whom %s follows: %w", user, err)
	}
	if len(follows) == 0 {
		return nil, nil
	}
	circles := map[string][]string{}
	authors := make([]string, len(follows))
	for i, f := range follows {
		authors[i], circles[f.To] = f.To, f.Circles
	}
	out, err := n.latest(ctx, n.posts, user)
	if err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(it Item) bool { _, follows := circles[it.Author]; return !follows })
	pulled, err := n.read(ctx, bson.D{{"author", bson.D{{"$in", authors}}}, {"pull", true}})
	if err != nil {
		return nil, err
	}
	for _, l := range pulled {
		have := slices.ContainsFunc(out, func(it Item) bool { return it.ID == l.ID })
		if !have && visible(&l, circles[l.Author]) {
			out = append(out, l.item())
		}
	}
	slices.SortStableFunc(out, func(a, b Item) int {
		return cmp.Or(b.At.Compare(a.At), slices.Compare(b.ID[:], a.ID[:]))
	})
	return out, nil
}

// visible reports whether a reader in the given circles of the author may see a post.
func visible(l *letter, circles []string) bool {
	return len(l.Circles) == 0 ||
		slices.ContainsFunc(l.Circles, func(c string) bool { return slices.Contains(circles, c) })
}

// read returns the newest posts that satisfy a condition and are not deleted.
func (n *Network) read(ctx context.Context, filter bson.D) ([]letter, error) {
	filter = append(filter, bson.E{"state", bson.D{{"$ne", deleting}}})
	cur, err := n.posts.out.Find(ctx, filter, options.Find().SetSort(bson.D{{"_id", -1}}).SetLimit(2*BucketSize))
	if err != nil {
		return nil, fmt.Errorf("social: read posts: %w", err)
	}
	var out []letter
	if err := cur.All(ctx, &out); err != nil {
		return nil, fmt.Errorf("social: read posts: %w", err)
	}
	return out, nil
}

// Wall returns up to 100 posts of an author that the viewer may see, the latest first. If before is
// not zero, it returns only posts that are older than the post with this ID. It returns ErrBlocked
// if one of the two users has blocked the other.
func (n *Network) Wall(ctx context.Context, author, viewer string, before bson.ObjectID) ([]Item, error) {
	filter := bson.D{{"author", author}}
	if !before.IsZero() {
		filter = append(filter, bson.E{"_id", bson.D{{"$lt", before}}})
	}
	if viewer != author {
		if err := n.notBlocked(ctx, author, viewer); err != nil {
			return nil, err
		}
		var in follow // stays empty if the viewer does not follow the author
		cur, err := n.follows.Find(ctx, pair(viewer, author))
		if err != nil {
			return nil, fmt.Errorf("social: circles of %s: %w", viewer, err)
		}
		for cur.Next(ctx) {
			if err := cur.Decode(&in); err != nil {
				return nil, fmt.Errorf("social: circles of %s: %w", viewer, err)
			}
		}
		if err := cur.Err(); err != nil {
			return nil, fmt.Errorf("social: circles of %s: %w", viewer, err)
		}
		public := bson.D{{"circles", nil}}
		within := bson.D{{"circles", bson.D{{"$in", append([]string{}, in.Circles...)}}}}
		filter = append(filter, bson.E{"$or", bson.A{public, within}})
	}
	letters, err := n.read(ctx, filter)
	if err != nil {
		return nil, err
	}
	out := make([]Item, len(letters))
	for i := range letters {
		out[i] = letters[i].item()
	}
	return out, nil
}
