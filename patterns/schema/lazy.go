package schema

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Insert stores a document of the current version, and adds the version field.
func (s *Schema) Insert(ctx context.Context, doc any) error {
	data, err := bson.Marshal(doc)
	if err != nil {
		return fmt.Errorf("schema: insert: %w", err)
	}
	var d bson.D
	if err := bson.Unmarshal(data, &d); err != nil {
		return fmt.Errorf("schema: insert: %w", err)
	}
	if _, err := s.coll.InsertOne(ctx, s.stamp(d)); err != nil {
		return fmt.Errorf("schema: insert: %w", err)
	}
	return nil
}

// Get reads a document of any version and decodes its current form into v. It writes nothing.
func (s *Schema) Get(ctx context.Context, id, v any) error {
	doc, err := s.read(ctx, id)
	if err != nil {
		return err
	}
	return s.Decode(doc, v)
}

func (s *Schema) read(ctx context.Context, id any) (bson.Raw, error) {
	doc, err := s.coll.FindOne(ctx, bson.D{{"_id", id}}).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("schema: read %v: %w", id, err)
	}
	return doc, nil
}

// Update applies an update that expects a document of the current version. It migrates an older
// document first. A concurrent update is never lost. Update costs one update command for a current
// document, and one find and two more updates for an older one.
func (s *Schema) Update(ctx context.Context, id, update any) error {
	current := bson.D{{"_id", id}, {s.cfg.Field, s.Version()}}
	if s.Version() == 0 {
		current[1].Value = bson.D{{"$in", bson.A{0, nil}}}
	}
	for ctx.Err() == nil {
		res, err := s.coll.UpdateOne(ctx, current, update)
		if err != nil {
			return fmt.Errorf("schema: update %v: %w", id, err)
		}
		if res.MatchedCount > 0 {
			return nil
		}
		doc, err := s.read(ctx, id)
		if err != nil {
			return err
		}
		up, old, err := s.Upgrade(doc)
		if err != nil {
			return err
		}
		if !old {
			continue // another process has migrated the document
		}
		if _, err := s.coll.ReplaceOne(ctx, s.unchanged(doc), up); err != nil {
			return fmt.Errorf("schema: migrate %v: %w", id, err)
		}
	}
	return ctx.Err()
}

// unchanged returns the condition that a document is still the same as when it was read.
func (s *Schema) unchanged(doc bson.Raw) bson.D {
	return bson.D{
		{"_id", doc.Lookup("_id")},
		{"$expr", bson.D{{"$eq", bson.A{"$$ROOT", bson.D{{"$literal", doc}}}}}},
	}
}
