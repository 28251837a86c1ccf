package schema

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Failure describes a document that could not be migrated.
type Failure struct {
	ID  any
	Err error
}

// Result is the result of a migration.
type Result struct {
	Migrated int64
	// Failed lists the documents that were left unchanged because a step failed.
	Failed []Failure
}

// old returns the condition that selects documents of older versions.
func (s *Schema) old() bson.D {
	return bson.D{{"$or", bson.A{
		bson.D{{s.cfg.Field, nil}},
		bson.D{{s.cfg.Field, bson.D{{"$lt", s.Version()}}}},
	}}}
}

// Pending returns the number of documents of older versions.
func (s *Schema) Pending(ctx context.Context) (int64, error) {
	if s.Version() == 0 {
		return 0, nil
	}
	n, err := s.coll.CountDocuments(ctx, s.old())
	if err != nil {
		return 0, fmt.Errorf("schema: count what is old: %w", err)
	}
	return n, nil
}

// Migrate brings all documents to the current version, in batches. It may be interrupted at any
// time: the next call continues with the documents that are still old. Several processes may run it
// at the same time. If a step fails for a document, Migrate leaves the document unchanged and lists
// it in the result.
func (s *Schema) Migrate(ctx context.Context) (Result, error) {
	var res Result
	for s.Version() > 0 {
		docs, err := s.batch(ctx, res.Failed)
		if err != nil || len(docs) == 0 {
			return res, err
		}
		writes := make([]mongo.WriteModel, 0, len(docs))
		for _, doc := range docs {
			up, _, err := s.Upgrade(doc)
			if err != nil {
				res.Failed = append(res.Failed, Failure{doc.Lookup("_id"), err})
				s.env.Logger.Warn("a document cannot be migrated", "collection", s.coll.Name(), "id",
					doc.Lookup("_id").String(), "error", err)
				continue
			}
			writes = append(writes, mongo.NewReplaceOneModel().SetFilter(s.unchanged(doc)).SetReplacement(up))
		}
		if len(res.Failed) > s.cfg.MaxFailures {
			return res, fmt.Errorf("%w: the first one is %v: %w", ErrFailures, res.Failed[0].ID, res.Failed[0].Err)
		}
		n, err := s.write(ctx, writes)
		res.Migrated += n
		if err != nil {
			return res, err
		}
		if err := s.env.Clock.Sleep(ctx, s.cfg.Pause); err != nil {
			return res, err
		}
	}
	return res, nil
}

// batch reads a batch of old documents, except the ones that have failed.
func (s *Schema) batch(ctx context.Context, without []Failure) ([]bson.Raw, error) {
	filter := s.old()
	if len(without) > 0 {
		ids := make(bson.A, len(without))
		for i, f := range without {
			ids[i] = f.ID
		}
		filter = append(filter, bson.E{"_id", bson.D{{"$nin", ids}}})
	}
	cur, err := s.coll.Find(ctx, filter, options.Find().SetLimit(int64(s.cfg.Batch)).SetBatchSize(int32(s.cfg.Batch)))
	if err != nil {
		return nil, fmt.Errorf("schema: find what is old: %w", err)
	}
	var docs []bson.Raw
	if err := cur.All(ctx, &docs); err != nil {
		return nil, fmt.Errorf("schema: find what is old: %w", err)
	}
	return docs, nil
}

// write replaces documents. A document that somebody has changed since it was read comes again in
// the next batch.
func (s *Schema) write(ctx context.Context, writes []mongo.WriteModel) (int64, error) {
	if len(writes) == 0 {
		return 0, nil
	}
	res, err := s.coll.BulkWrite(ctx, writes, options.BulkWrite().SetOrdered(false))
	if err != nil {
		return 0, fmt.Errorf("schema: migrate: %w", err)
	}
	s.env.Metrics.Add("schema.migrated", res.MatchedCount)
	return res.MatchedCount, nil
}

// These are the rules whose violations Schema.Check lists.
const (
	RuleVersion = "a version is a whole number from zero to the current one"
	RuleUpgrade = "each document can be brought to the current form"
)

// Check reads all documents and lists the ones that cannot be brought to the current version. An
// old document is not a violation: see Pending.
func (s *Schema) Check(ctx context.Context) ([]patterns.Violation, error) {
	cur, err := s.coll.Find(ctx, bson.D{})
	if err != nil {
		return nil, fmt.Errorf("schema: check: %w", err)
	}
	defer func() { _ = cur.Close(ctx) }()
	var out []patterns.Violation
	for cur.Next(ctx) {
		rule := RuleVersion
		_, err := s.version(cur.Current)
		if err == nil {
			rule = RuleUpgrade
			_, _, err = s.Upgrade(cur.Current)
		}
		if err != nil {
			id := append(bson.Raw(nil), cur.Current...).Lookup("_id")
			out = append(out, patterns.Violation{Rule: rule, Collection: s.coll.Name(), ID: id, Detail: err.Error()})
		}
	}
	return out, cur.Err()
}
