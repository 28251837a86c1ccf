package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// field returns a document with one field.
func field(name string, value any) bson.D { return bson.D{{name, value}} }

// fill inserts n documents.
func fill(ctx context.Context, c *mongo.Collection, n int, document func(i int) bson.D) error {
	return inBatches(n, func(from, to int) error {
		batch := make([]any, 0, to-from)
		for i := from; i < to; i++ {
			batch = append(batch, document(i))
		}
		_, err := c.InsertMany(ctx, batch)
		return err
	})
}

// indexOn creates one index for each of the keys.
func indexOn(ctx context.Context, c *mongo.Collection, keys ...bson.D) error {
	models := make([]mongo.IndexModel, len(keys))
	for i := range keys {
		models[i].Keys = keys[i]
	}
	_, err := c.Indexes().CreateMany(ctx, models)
	return err
}

// changeOne updates one document. It fails if no document matches.
func changeOne(ctx context.Context, c *mongo.Collection, filter, update any) error {
	r, err := c.UpdateOne(ctx, filter, update)
	if err == nil && r.MatchedCount != 1 {
		return fmt.Errorf("%s: %d documents matched", c.Name(), r.MatchedCount)
	}
	return err
}

// pgTable creates a table with the columns id (with the type key) and doc.
func pgTable(ctx context.Context, pool *pgxpool.Pool, name, key string, indexes ...string) error {
	if _, err := pool.Exec(ctx,
		fmt.Sprintf("create table %s (id %s primary key, doc jsonb not null)", name, key)); err != nil {
		return err
	}
	for _, ix := range indexes {
		if _, err := pool.Exec(ctx, fmt.Sprintf("create index on %s %s", name, ix)); err != nil {
			return err
		}
	}
	return nil
}

// pgFill copies n documents into a table. The _id of a document is its id in the table.
func pgFill(ctx context.Context, pool *pgxpool.Pool, table string, n int, document func(i int) bson.D) error {
	_, err := pool.CopyFrom(ctx, pgx.Identifier{table}, []string{"id", "doc"},
		pgx.CopyFromSlice(n, func(i int) ([]any, error) {
			doc := document(i)
			text, err := asJSON(doc[1:])
			return []any{doc[0].Value, text}, err
		}))
	return err
}

// asJSON returns the JSON that PostgreSQL stores for a document.
func asJSON(doc bson.D) ([]byte, error) { return bson.MarshalExtJSON(doc, false, false) }

// pgChange runs a statement. It fails unless the statement changes one row.
func pgChange(ctx context.Context, pool *pgxpool.Pool, query string, args ...any) error {
	tag, err := pool.Exec(ctx, query, args...)
	if err == nil && tag.RowsAffected() != 1 {
		return fmt.Errorf("%d rows changed: %s", tag.RowsAffected(), query)
	}
	return err
}
