package identity

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
)

// Release removes identities from a user. If the user does not have one of them, Release returns
// ErrNotFound; the identities that precede it are released.
func (s *Identities) Release(ctx context.Context, user string, ids ...Identity) error {
	for _, id := range ids {
		key, err := s.key(id)
		if err != nil {
			return err
		}
		if err := s.release(ctx, user, key); err != nil {
			return err
		}
	}
	return nil
}

func (s *Identities) release(ctx context.Context, user, key string) error {
	holder := user
	for {
		mine := bson.D{{"_id", key}, {"user", holder}, {"claim", exists(false)}}
		res, err := s.coll.DeleteOne(ctx, mine)
		if err != nil || res.DeletedCount > 0 {
			return wrap(err, "release an identity")
		}
		doc, err := s.settled(ctx, key)
		if err != nil {
			return err
		}
		if doc == nil || doc.Claim != nil {
			return ErrNotFound
		}
		owner, raw, err := s.follow(ctx, doc.User)
		if err != nil {
			return err
		}
		if raw == nil || owner != user {
			return ErrNotFound
		}
		holder = doc.User // the identity belongs to a user that is being merged into this one
	}
}

// The states of an unfinished merge.
const (
	mergeBegun   = "begun"   // the merge may still be undone
	mergeDecided = "decided" // the merge has happened; identities may remain to be moved
)

// Merge gives all identities of the user from to the user into, at one moment. The document of from
// stays, because other data may refer to it, and gets the field mergedInto. The application moves
// its own data. Merge returns ErrNoUser if one of the users does not exist or is already merged,
// and ErrBusy if another process is merging one of them.
func (s *Identities) Merge(ctx context.Context, into, from string) error {
	if into == from {
		return fmt.Errorf("%w merge of user %q into itself", ErrInvalid, from)
	}
	absent := exists(false)
	free := append(byID(from), bson.E{"mergedInto", absent}, bson.E{"leaving", absent}, bson.E{"claim", absent})
	begin := set(bson.E{"mergedInto", into}, bson.E{"merging", mergeBegun})
	res, err := s.users.UpdateOne(ctx, free, begin)
	if err != nil {
		return wrap(err, "merge user "+from)
	}
	if res.MatchedCount == 0 {
		return ErrNoUser
	}
	if err := s.decide(ctx, from, into); err != nil {
		return err
	}
	s.env.Metrics.Add("identity.merged", 1)
	return s.move(ctx, from, into)
}

// decide makes a merge happen if the other user exists and is not about to be merged itself.
// Otherwise it undoes the merge. If several merges would form a cycle, the merge that began last
// sees that its target is being merged.
func (s *Identities) decide(ctx context.Context, from, into string) error {
	to, err := s.user(ctx, into)
	if err != nil {
		return err
	}
	begun := append(byID(from), bson.E{"mergedInto", into}, bson.E{"merging", mergeBegun})
	if err := to.may(); err != nil || to.Claim != nil {
		undo := bson.D{{"$unset", bson.D{{"mergedInto", ""}, {"merging", ""}}}}
		_, err2 := s.users.UpdateOne(ctx, begun, undo)
		if err == nil {
			err = ErrBusy // the other user is being registered
		}
		return errors.Join(err, wrap(err2, "take back a merge"))
	}
	res, err := s.users.UpdateOne(ctx, begun, set(bson.E{"merging", mergeDecided}))
	if err != nil {
		return wrap(err, "decide a merge")
	}
	if res.MatchedCount > 0 {
		return nil
	}
	u, err := s.user(ctx, from) // Repair has decided the merge
	if err == nil && (u == nil || u.MergedInto != into || u.Merging == mergeBegun) {
		err = ErrBusy
	}
	return err
}

// move moves the identities of a merged user.
func (s *Identities) move(ctx context.Context, from, into string) error {
	if _, err := s.coll.UpdateMany(ctx, ownedBy(from), set(bson.E{"user", into})); err != nil {
		return wrap(err, "move identities")
	}
	// The new owner may have been deleted or merged meanwhile, by a process that has not seen these
	// identities.
	to, err := s.user(ctx, into)
	if err != nil {
		return err
	}
	this := append(byID(from), bson.E{"mergedInto", into})
	switch {
	case to == nil || to.Leaving:
		if err := s.delete(ctx, into); err != nil {
			return err
		}
		return s.forget(ctx, from, into)
	case to.merged():
		if err := s.move(ctx, into, to.MergedInto); err != nil {
			return err
		}
	}
	if _, err := s.users.UpdateOne(ctx, this, unset("merging")); err != nil {
		return wrap(err, "finish the merge of user "+from)
	}
	// If the user into was deleted meanwhile, its deletion has skipped the user from: remove that
	// document here.
	if to, err = s.user(ctx, into); err != nil || to != nil && !to.Leaving {
		return err
	}
	return s.forget(ctx, from, into)
}

// forget removes the document of a user that was merged into a deleted user, and the documents of
// all users merged into it.
func (s *Identities) forget(ctx context.Context, from, into string) error {
	if err := s.forgetMerged(ctx, from); err != nil {
		return err
	}
	_, err := s.users.DeleteOne(ctx, append(byID(from), bson.E{"mergedInto", into}))
	return wrap(err, "delete user "+from)
}

// forgetMerged removes the documents of all users that were merged into a user, directly or through
// a chain, the end of a chain first. It skips unfinished merges: the process that finishes such a
// merge also removes the document.
func (s *Identities) forgetMerged(ctx context.Context, into string) error {
	merged := bson.D{{"mergedInto", into}, {"merging", exists(false)}}
	return patterns.Each(ctx, s.users, merged, func(u *user) error { return s.forget(ctx, u.ID, into) })
}

// Delete removes a user, the user's identities, and the documents of users that were merged into
// it. It returns ErrNoUser if the user does not exist or is merged.
func (s *Identities) Delete(ctx context.Context, user string) error {
	there := append(byID(user), bson.E{"mergedInto", exists(false)}, bson.E{"claim", exists(false)})
	res, err := s.users.UpdateOne(ctx, there, set(bson.E{"leaving", true}))
	if err != nil {
		return wrap(err, "delete user "+user)
	}
	if res.MatchedCount == 0 {
		return ErrNoUser
	}
	return s.delete(ctx, user)
}

// delete continues the deletion of a user that is marked as leaving.
func (s *Identities) delete(ctx context.Context, user string) error {
	_, err := s.coll.DeleteMany(ctx, ownedBy(user))
	if err == nil {
		err = s.forgetMerged(ctx, user)
	}
	if err == nil {
		_, err = s.users.DeleteOne(ctx, append(byID(user), bson.E{"leaving", true}))
	}
	return wrap(err, "delete user "+user)
}

func ownedBy(user string) bson.D { return bson.D{{"user", user}} }
