package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// The states of a claim. A claim that was given up is removed.
const (
	stateOpen = "open"
	stateDone = "done"
)

// claim is the stored intent to take several identities.
type claim struct {
	ID       bson.ObjectID `bson:"_id"`
	User     string        `bson:"user"`
	IDs      []string      `bson:"ids"`
	State    string        `bson:"state"`
	Deadline time.Time     `bson:"deadline"`
	Register bool          `bson:"register,omitempty"` // the claim also creates the user
	docs     []document
}

// Claim gives identities to a user, all of them or none. Identities that the user already has are
// not an error. Claim returns ErrTaken if an identity belongs to another user, ErrBusy if another
// claim is about to take it, and ErrNoUser if the user does not exist.
func (s *Identities) Claim(ctx context.Context, user string, ids ...Identity) error {
	docs, err := s.documents(user, ids)
	if err != nil {
		return err
	}
	if len(docs) == 1 {
		return s.claimOne(ctx, docs[0])
	}
	return s.claimAll(ctx, user, docs, nil)
}

// Register creates a user together with identities, or nothing. The user's document has the _id id
// and the fields of data. If id is empty, Register generates it. It returns the id. It returns
// ErrUserExists if a user with this _id exists, and otherwise the same errors as Claim.
func (s *Identities) Register(ctx context.Context, id string, data bson.D, ids ...Identity) (string, error) {
	if id == "" {
		id = bson.NewObjectID().Hex()
	}
	docs, err := s.documents(id, ids)
	if err != nil {
		return "", err
	}
	return id, s.claimAll(ctx, id, docs, append(byID(id), data...))
}

// documents returns the identities to insert, without duplicates and in the order of their _ids.
func (s *Identities) documents(user string, ids []Identity) ([]document, error) {
	if user == "" || len(ids) == 0 || len(ids) > MaxClaim {
		return nil, fmt.Errorf("%w claim of %d identities for user %q", ErrInvalid, len(ids), user)
	}
	var docs []document
	for _, id := range ids {
		key, err := s.key(id)
		if err != nil {
			return nil, err
		}
		docs = append(docs, document{ID: key, Kind: id.Kind, Value: id.Value, User: user, At: s.env.Now()})
	}
	slices.SortStableFunc(docs, func(a, b document) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(docs, func(a, b document) bool { return a.ID == b.ID }), nil
}

// claimOne claims a single identity. It needs no stored claim, because one insert happens or does
// not happen.
func (s *Identities) claimOne(ctx context.Context, doc document) error {
	mine, err := s.insert(ctx, &doc)
	if err != nil {
		return err
	}
	u, err := s.user(ctx, doc.User)
	if err != nil {
		return err
	}
	no := u.may()
	if no == nil || mine {
		return no
	}
	_, err = s.coll.DeleteOne(ctx, append(byID(doc.ID), ownedBy(doc.User)...))
	return errors.Join(no, wrap(err, "give back an identity"))
}

// claimAll claims several identities. It also creates the user if newUser is not nil.
func (s *Identities) claimAll(ctx context.Context, user string, docs []document, newUser bson.D) error {
	c, err := s.open(ctx, user, docs, newUser != nil)
	if err != nil {
		return err
	}
	if err := s.mark(ctx, c, newUser); err != nil {
		return errors.Join(err, s.giveUp(context.WithoutCancel(ctx), c))
	}
	if err := s.commit(ctx, c); err != nil {
		return err
	}
	s.env.Metrics.Add("identity.claimed", int64(len(docs)))
	return s.finish(ctx, c)
}

// open stores a new claim.
func (s *Identities) open(ctx context.Context, user string, docs []document, register bool) (*claim, error) {
	c := &claim{
		ID: bson.NewObjectID(), User: user, State: stateOpen, Deadline: s.env.Now().Add(s.cfg.Timeout),
		Register: register, docs: docs,
	}
	for i := range docs {
		docs[i].Claim = &c.ID
		c.IDs = append(c.IDs, docs[i].ID)
	}
	_, err := s.claimed.InsertOne(ctx, c)
	return c, wrap(err, "write a claim")
}

// mark inserts the identities with the mark of a claim, in a fixed order. If two claims want the
// same identities, the claim that gets the first of them gets all.
func (s *Identities) mark(ctx context.Context, c *claim, newUser bson.D) error {
	if newUser != nil {
		_, err := s.users.InsertOne(ctx, append(newUser, bson.E{"claim", c.ID}))
		if mongo.IsDuplicateKeyError(err) {
			return ErrUserExists
		}
		if err != nil {
			return wrap(err, "make user "+c.User)
		}
	}
	for rest := c.docs; len(rest) > 0; {
		_, err := s.coll.InsertMany(ctx, rest)
		failed := mongo.BulkWriteException{}
		if err == nil {
			break
		}
		if !errors.As(err, &failed) || len(failed.WriteErrors) != 1 || !mongo.IsDuplicateKeyError(err) {
			return wrap(err, "mark identities")
		}
		at := failed.WriteErrors[0].Index
		if _, err := s.insert(ctx, &rest[at]); err != nil {
			return err
		}
		rest = rest[at+1:]
	}
	u, err := s.user(ctx, c.User)
	if err != nil {
		return err
	}
	return u.may()
}

// insert inserts an identity. If another claim's mark on the identity has ended, insert removes it
// first. mine reports that the user already has the identity.
func (s *Identities) insert(ctx context.Context, doc *document) (mine bool, err error) {
	for {
		_, err := s.coll.InsertOne(ctx, doc)
		if !mongo.IsDuplicateKeyError(err) {
			return false, wrap(err, "insert an identity")
		}
		there, err := s.settled(ctx, doc.ID)
		switch {
		case err != nil:
			return false, err
		case there == nil: // the identity is free by now
		case there.Claim != nil:
			return false, ErrBusy
		default:
			owner, raw, err := s.follow(ctx, there.User)
			switch {
			case err != nil:
				return false, err
			case there.User == doc.User || owner == doc.User && raw != nil:
				return true, nil
			default:
				return false, ErrTaken
			}
		}
	}
}

// commit makes the claim happen. After commit it can no longer be given up.
func (s *Identities) commit(ctx context.Context, c *claim) error {
	open := append(byID(c.ID), bson.E{"state", stateOpen})
	res, err := s.claimed.UpdateOne(ctx, open, set(bson.E{"state", stateDone}))
	if err != nil {
		return wrap(err, "decide a claim")
	}
	if res.MatchedCount == 0 {
		return errors.Join(ErrExpired, s.clear(ctx, c))
	}
	return nil
}

// finish removes the marks of a claim that has happened, and then the claim.
func (s *Identities) finish(ctx context.Context, c *claim) error {
	_, err := s.coll.UpdateMany(ctx, s.marked(c), unset("claim"))
	if err == nil && c.Register {
		_, err = s.users.UpdateOne(ctx, append(byID(c.User), bson.E{"claim", c.ID}), unset("claim"))
	}
	if err == nil {
		_, err = s.claimed.DeleteOne(ctx, byID(c.ID))
	}
	return wrap(err, "finish a claim")
}

// giveUp removes a claim that has not happened, and its marks. It does nothing to a claim that has
// happened.
func (s *Identities) giveUp(ctx context.Context, c *claim) error {
	open := append(byID(c.ID), bson.E{"state", stateOpen})
	if _, err := s.claimed.DeleteOne(ctx, open); err != nil {
		return wrap(err, "give up a claim")
	}
	now, err := s.readClaim(ctx, c.ID)
	if now != nil || err != nil {
		return err
	}
	return s.clear(ctx, c)
}

// clear removes the marked identities of a claim that was given up, and the marked user.
func (s *Identities) clear(ctx context.Context, c *claim) error {
	_, err := s.coll.DeleteMany(ctx, s.marked(c))
	if err == nil && c.Register {
		_, err = s.users.DeleteOne(ctx, append(byID(c.User), bson.E{"claim", c.ID}))
	}
	return wrap(err, "give up a claim")
}

// marked returns the condition that selects the identities marked by a claim.
func (s *Identities) marked(c *claim) bson.D {
	return bson.D{{"_id", in(c.IDs)}, {"claim", c.ID}}
}

// settled returns an identity as it is stored, or nil if it does not exist. If the identity is
// marked by a claim that has been decided or has expired, settled ends the claim first. An identity
// that still has a mark does not belong to anyone yet.
func (s *Identities) settled(ctx context.Context, key string) (*document, error) {
	for {
		doc, err := s.read(ctx, key)
		if err != nil || doc == nil || doc.Claim == nil {
			return doc, err
		}
		c, err := s.readClaim(ctx, *doc.Claim)
		switch {
		case err != nil:
			return nil, err
		case c == nil:
			// The marks of a claim that has happened are removed before the claim. This mark still
			// exists, so the claim was given up.
			_, err = s.coll.DeleteOne(ctx, bson.D{{"_id", key}, {"claim", *doc.Claim}})
			err = wrap(err, "remove the mark of a claim that was given up")
		case c.State == stateDone:
			err = s.finish(ctx, c)
		case c.Deadline.After(s.env.Now()):
			return doc, nil
		default:
			err = s.giveUp(ctx, c)
		}
		if err != nil {
			return nil, err
		}
	}
}

func (s *Identities) readClaim(ctx context.Context, id bson.ObjectID) (*claim, error) {
	c := &claim{}
	err := s.claimed.FindOne(ctx, byID(id)).Decode(c)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	return c, wrap(err, "read a claim")
}

// user returns the fields of a user that this package uses, or nil if the user does not exist.
func (s *Identities) user(ctx context.Context, id string) (*user, error) {
	u := &user{}
	err := s.users.FindOne(ctx, byID(id)).Decode(u)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	return u, wrap(err, "read user "+id)
}
