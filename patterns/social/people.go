package social

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Profile is the public data of a user.
type Profile struct {
	ID    string `bson:"_id"`
	Name  string `bson:"name"`
	About string `bson:"about"`
}

// SetProfile stores a profile.
func (n *Network) SetProfile(ctx context.Context, p Profile) error {
	if len(p.Name)+len(p.About) > MaxText {
		return ErrTooLong
	}
	set := bson.D{{"$set", bson.D{{"name", p.Name}, {"about", p.About}}}}
	if _, err := n.users.UpdateOne(ctx, bson.D{{"_id", p.ID}}, set, options.UpdateOne().SetUpsert(true)); err != nil {
		return fmt.Errorf("social: set the profile of %s: %w", p.ID, err)
	}
	return nil
}

// Profile returns the profile of a user, or ErrNotFound.
func (n *Network) Profile(ctx context.Context, id string) (Profile, error) {
	var p Profile
	err := n.users.FindOne(ctx, bson.D{{"_id", id}}).Decode(&p)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return p, ErrNotFound
	}
	if err != nil {
		return p, fmt.Errorf("social: read the profile of %s: %w", id, err)
	}
	return p, nil
}

// follow says that the user From reads the posts of the user To, and lists the circles of To that
// contain From.
type follow struct {
	From    string   `bson:"from"`
	To      string   `bson:"to"`
	Circles []string `bson:"circles"`
}

func pair(from, to string) bson.D {
	return bson.D{{"from", from}, {"to", to}}
}

// either returns the condition that a document links two users, in either direction.
func either(a, b string) bson.D {
	return bson.D{{"$or", bson.A{pair(a, b), pair(b, a)}}}
}

// link inserts the document of a pair if it does not exist.
func link(ctx context.Context, coll *mongo.Collection, from, to string, fields bson.D) error {
	_, err := coll.UpdateOne(ctx, pair(from, to), bson.D{{"$setOnInsert", fields}}, options.UpdateOne().SetUpsert(true))
	if mongo.IsDuplicateKeyError(err) {
		return nil // another process has just inserted the document
	}
	return err
}

// Follow lets the user from read the posts that the user to writes from now on. It returns
// ErrBlocked if one of the two users has blocked the other.
func (n *Network) Follow(ctx context.Context, from, to string) error {
	if from == to {
		return ErrSelf
	}
	if err := n.ready(ctx); err != nil {
		return err
	}
	if err := n.notBlocked(ctx, from, to); err != nil {
		return err
	}
	if err := link(ctx, n.follows, from, to, bson.D{{"circles", bson.A{}}}); err != nil {
		return fmt.Errorf("social: follow %s: %w", to, err)
	}
	err := n.notBlocked(ctx, from, to)
	if errors.Is(err, ErrBlocked) { // one of the two users has blocked the other in the meantime
		return errors.Join(err, n.Unfollow(ctx, from, to))
	}
	return err
}

func (n *Network) notBlocked(ctx context.Context, a, b string) error {
	err := n.blocks.FindOne(ctx, either(a, b)).Err()
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		return nil
	case err != nil:
		return fmt.Errorf("social: has %s blocked %s: %w", a, b, err)
	}
	return ErrBlocked
}

// Unfollow ends a Follow. Posts that are already in the feed are not shown any more.
func (n *Network) Unfollow(ctx context.Context, from, to string) error {
	if _, err := n.follows.DeleteOne(ctx, pair(from, to)); err != nil {
		return fmt.Errorf("social: unfollow %s: %w", to, err)
	}
	return nil
}

// SetCircles sets the circles of a user that contain a follower, for example "family". It returns
// ErrNotFound if the follower does not follow the user.
func (n *Network) SetCircles(ctx context.Context, user, follower string, circles ...string) error {
	if circles == nil {
		circles = []string{}
	}
	set := bson.D{{"$set", bson.D{{"circles", circles}}}}
	res, err := n.follows.UpdateOne(ctx, pair(follower, user), set)
	if err != nil {
		return fmt.Errorf("social: circles of %s: %w", user, err)
	}
	if res.MatchedCount == 0 {
		return ErrNotFound
	}
	return nil
}

// Block separates two users: neither follows the other any more, neither sees the other's posts,
// and the blocked user cannot send messages to the other.
func (n *Network) Block(ctx context.Context, user, other string) error {
	if user == other {
		return ErrSelf
	}
	if err := n.ready(ctx); err != nil {
		return err
	}
	if err := link(ctx, n.blocks, user, other, bson.D{{"at", n.env.Now()}}); err != nil {
		return fmt.Errorf("social: block %s: %w", other, err)
	}
	if _, err := n.follows.DeleteMany(ctx, either(user, other)); err != nil {
		return fmt.Errorf("social: block %s: %w", other, err)
	}
	return nil
}

// Unblock removes a block.
func (n *Network) Unblock(ctx context.Context, user, other string) error {
	if _, err := n.blocks.DeleteOne(ctx, pair(user, other)); err != nil {
		return fmt.Errorf("social: unblock %s: %w", other, err)
	}
	return nil
}

// Followers returns the number of followers of a user.
func (n *Network) Followers(ctx context.Context, user string) (int64, error) {
	c, err := n.follows.CountDocuments(ctx, bson.D{{"to", user}})
	if err != nil {
		return 0, fmt.Errorf("social: followers of %s: %w", user, err)
	}
	return c, nil
}
