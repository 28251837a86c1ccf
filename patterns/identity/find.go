package identity

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Owner returns the _id of the user who has the identity, or ErrNotFound.
func (s *Identities) Owner(ctx context.Context, id Identity) (string, error) {
	owner, _, err := s.owner(ctx, id)
	return owner, err
}

// Find returns the _id of the user who has the identity, and decodes the user's document into doc.
// It returns ErrNotFound if no user has it.
func (s *Identities) Find(ctx context.Context, id Identity, doc any) (string, error) {
	owner, raw, err := s.owner(ctx, id)
	if err != nil {
		return "", err
	}
	return owner, wrap(bson.Unmarshal(raw, doc), "decode user "+owner)
}

func (s *Identities) owner(ctx context.Context, id Identity) (string, bson.Raw, error) {
	key, err := s.key(id)
	if err != nil {
		return "", nil, err
	}
	for range maxMerges { // users may be merged while we look
		doc, err := s.settled(ctx, key)
		if err != nil {
			return "", nil, err
		}
		if doc == nil || doc.Claim != nil {
			return "", nil, ErrNotFound
		}
		owner, raw, err := s.follow(ctx, doc.User)
		if err != nil || raw != nil {
			return owner, raw, err
		}
		// The user was deleted, or merged and then deleted, after the identity was read: look
		// again.
		again, err := s.read(ctx, key)
		if err != nil {
			return "", nil, err
		}
		if again == nil || again.User == doc.User {
			return "", nil, ErrNotFound
		}
	}
	return "", nil, ErrBusy
}

// follow follows merges from a user to the user that it has become part of. The returned document
// is nil if that user does not exist.
func (s *Identities) follow(ctx context.Context, id string) (string, bson.Raw, error) {
	for range maxMerges {
		raw, err := s.users.FindOne(ctx, byID(id)).Raw()
		if errors.Is(err, mongo.ErrNoDocuments) {
			return id, nil, nil
		}
		u := user{}
		if err == nil {
			err = bson.Unmarshal(raw, &u)
		}
		if err != nil {
			return "", nil, wrap(err, "read user "+id)
		}
		if u.Leaving {
			return id, nil, nil
		}
		if !u.merged() {
			return id, raw, nil
		}
		id = u.MergedInto
	}
	return id, nil, nil
}

// List returns the identities of a user, as they were typed. It queries all shards.
func (s *Identities) List(ctx context.Context, user string) ([]Identity, error) {
	found, err := s.coll.Find(ctx, bson.D{{"user", user}}, options.Find().SetSort(byID(1)))
	var docs []document
	if err == nil {
		err = found.All(ctx, &docs)
	}
	if err != nil {
		return nil, wrap(err, "list identities")
	}
	var out []Identity
	for _, doc := range docs {
		if doc.Claim != nil {
			now, err := s.settled(ctx, doc.ID)
			if err != nil {
				return nil, err
			}
			if now == nil || now.Claim != nil || now.User != user {
				continue
			}
		}
		out = append(out, Identity{Kind: doc.Kind, Value: doc.Value})
	}
	return out, nil
}

// read returns an identity as it is stored, or nil.
func (s *Identities) read(ctx context.Context, key string) (*document, error) {
	doc := &document{}
	err := s.coll.FindOne(ctx, byID(key)).Decode(doc)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	return doc, wrap(err, "read an identity")
}
