package schema

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// These are the rules that the tasks Structure, Copies and Duplicates check.
const (
	RuleStructure  = "documents have the structure that was declared"
	RuleReference  = "what is referred to exists"
	RuleDuplicates = "there are no two documents with the same values"
)

// ErrNoTarget is returned for a Summary whose pipeline does not end in $merge or $out.
var ErrNoTarget = errors.New("schema: the pipeline does not write its result anywhere")

// Task returns the migration of the collection as a task.
func (s *Schema) Task() Task {
	return TaskFunc(func(ctx context.Context, _ *mongo.Database, _ patterns.Env) (Report, error) {
		res, err := s.Migrate(ctx)
		r := Report{Changed: res.Migrated}
		for _, f := range res.Failed {
			r.violate(patterns.Violation{Rule: RuleUpgrade, Collection: s.coll.Name(), ID: f.ID, Detail: f.Err.Error()})
		}
		return r, err
	})
}

// Structure is the structure checker: a task that finds documents with a wrong structure, and
// corrects them if it can. It reads the whole collection.
type Structure struct {
	Collection string
	// Schema is a JSON schema, as in $jsonSchema: required fields, types, limits.
	Schema bson.D
	// Fix, if not empty, is an update pipeline for the documents with a wrong structure.
	Fix mongo.Pipeline
}

// Run implements Task.
func (s Structure) Run(ctx context.Context, db *mongo.Database, _ patterns.Env) (r Report, err error) {
	coll := db.Collection(s.Collection)
	wrong := bson.D{{"$nor", bson.A{bson.D{{"$jsonSchema", s.Schema}}}}}
	if len(s.Fix) > 0 {
		res, err := coll.UpdateMany(ctx, wrong, s.Fix)
		if err != nil {
			return r, fmt.Errorf("schema: correct the structure of %s: %w", s.Collection, err)
		}
		r.Changed = res.ModifiedCount
	}
	cur, err := coll.Find(ctx, wrong)
	if err != nil {
		return r, fmt.Errorf("schema: check the structure of %s: %w", s.Collection, err)
	}
	defer func() { _ = cur.Close(ctx) }()
	for cur.Next(ctx) {
		doc := append(bson.Raw(nil), cur.Current...)
		r.violate(patterns.Violation{
			Rule: RuleStructure, Collection: s.Collection,
			ID: doc.Lookup("_id"), Detail: shortened(doc),
		})
	}
	return r, cur.Err()
}

// shortened returns a document as a text of limited length.
func shortened(doc bson.Raw) string {
	const longest = 200
	s := doc.String()
	if len(s) > longest {
		s = s[:longest] + "…"
	}
	return s
}

// Duplicates is a task that finds documents with the same values in some fields. It is for fields
// on which a unique index does not exist yet or is not possible. It reads the whole collection.
type Duplicates struct {
	Collection string
	Fields     []string
}

// Run implements Task.
func (d Duplicates) Run(ctx context.Context, db *mongo.Database, _ patterns.Env) (r Report, err error) {
	key := make(bson.A, len(d.Fields))
	for i, f := range d.Fields {
		key[i] = "$" + f
	}
	cur, err := db.Collection(d.Collection).Aggregate(ctx, mongo.Pipeline{
		{{"$group", bson.D{
			{"_id", key},
			{"n", bson.D{{"$sum", 1}}},
			{"first", bson.D{{"$min", "$_id"}}},
		}}},
		{{"$match", bson.D{{"n", bson.D{{"$gt", 1}}}}}},
		{{"$sort", bson.D{{"first", 1}}}},
	}, options.Aggregate().SetAllowDiskUse(true))
	if err != nil {
		return r, fmt.Errorf("schema: find duplicates in %s: %w", d.Collection, err)
	}
	defer func() { _ = cur.Close(ctx) }()
	for cur.Next(ctx) {
		doc := append(bson.Raw(nil), cur.Current...)
		detail := fmt.Sprintf("%v documents have %v of %v", doc.Lookup("n"), doc.Lookup("_id"), d.Fields)
		r.violate(patterns.Violation{
			Rule: RuleDuplicates, Collection: d.Collection,
			ID: doc.Lookup("first"), Detail: detail,
		})
	}
	return r, cur.Err()
}

// Prepare is the preallocator: a task that inserts documents before they are needed, for example
// tomorrow's counters. It leaves existing documents as they are.
type Prepare struct {
	Collection string
	// Documents returns the documents that should exist at a time. Each must have an _id.
	Documents func(now time.Time) []bson.D
}

// Run implements Task.
func (p Prepare) Run(ctx context.Context, db *mongo.Database, env patterns.Env) (Report, error) {
	docs := p.Documents(env.Now())
	if len(docs) == 0 {
		return Report{}, nil
	}
	_, err := db.Collection(p.Collection).InsertMany(ctx, docs, options.InsertMany().SetOrdered(false))
	failed := mongo.BulkWriteException{}
	if errors.As(err, &failed) && failed.WriteConcernError == nil {
		err = nil
		for _, e := range failed.WriteErrors {
			if !mongo.IsDuplicateKeyError(e) {
				err = failed
			}
		}
	}
	if err != nil {
		return Report{}, fmt.Errorf("schema: prepare documents of %s: %w", p.Collection, err)
	}
	return Report{Changed: int64(len(docs) - len(failed.WriteErrors))}, nil
}

// Summary is the aggregator: a task that computes documents from other documents and stores them.
type Summary struct {
	Collection string
	// Pipeline must end in $merge or $out. Its result must not depend on the results of earlier
	// executions.
	Pipeline func(now time.Time) mongo.Pipeline
}

// Run implements Task.
func (s Summary) Run(ctx context.Context, db *mongo.Database, env patterns.Env) (Report, error) {
	p := s.Pipeline(env.Now())
	if n := len(p); n == 0 || len(p[n-1]) == 0 || p[n-1][0].Key != "$merge" && p[n-1][0].Key != "$out" {
		return Report{}, ErrNoTarget
	}
	cur, err := db.Collection(s.Collection).Aggregate(ctx, p, options.Aggregate().SetAllowDiskUse(true))
	if err != nil {
		return Report{}, fmt.Errorf("schema: sum up %s: %w", s.Collection, err)
	}
	return Report{}, cur.Close(ctx)
}
