package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// answer holds the two numbers of a result that must be the same on all sides.
type answer struct {
	rows  int
	total float64
}

// aggSide is a side that can run queries over orders.
type aggSide interface {
	name() string
	local() bool
	processes() []int
	loadOrders(ctx context.Context, d orders) error
	ask(ctx context.Context, w aggWorkload) (answer, error)
	close() error
}

// loadOrders implements aggSide.
func (s *mongoSide) loadOrders(ctx context.Context, d orders) error {
	db := s.client.Database(database)
	c := db.Collection("orders")
	err := inBatches(d.size, func(from, to int) error {
		batch := make([]any, 0, to-from)
		for i := from; i < to; i++ {
			doc, err := d.bson(i)
			if err != nil {
				return err
			}
			batch = append(batch, doc)
		}
		_, err := c.InsertMany(ctx, batch)
		return err
	})
	if err != nil {
		return err
	}
	customers := make([]any, orderCustomers)
	for i := range customers {
		customers[i] = d.customer(i)
	}
	if _, err := db.Collection("customers").InsertMany(ctx, customers); err != nil {
		return err
	}
	_, err = c.Indexes().CreateMany(ctx, []mongo.IndexModel{
		{Keys: bson.D{{"status", 1}}}, {Keys: bson.D{{"customer", 1}}},
	})
	return err
}

// inBatches calls f for consecutive ranges of insertBatch numbers, from 0 to size. The last range
// may be shorter.
func inBatches(size int, f func(from, to int) error) error {
	for from := 0; from < size; from += insertBatch {
		if err := f(from, min(from+insertBatch, size)); err != nil {
			return err
		}
	}
	return nil
}

// ask implements aggSide.
func (s *mongoSide) ask(ctx context.Context, w aggWorkload) (answer, error) {
	var a answer
	cursor, err := s.client.Database(database).Collection("orders").
		Aggregate(ctx, w.pipeline, options.Aggregate().SetAllowDiskUse(true))
	if err != nil {
		return a, err
	}
	for cursor.Next(ctx) {
		a.rows++
		if v, err := cursor.Current.LookupErr("total"); err == nil {
			f, ok := v.AsFloat64OK()
			if !ok {
				return a, fmt.Errorf("the total is %s", v)
			}
			a.total += f
		}
	}
	return a, errors.Join(cursor.Err(), cursor.Close(ctx))
}

const postgresOrders = `
create table orders (id bigint primary key, doc jsonb not null);
create table customers (id bigint primary key, doc jsonb not null);
alter database postgres set work_mem = '100MB'`

const postgresOrderIndexes = `
create index on orders ((doc->>'status'));
create index on orders (((doc->>'customer')::bigint))`

// loadOrders implements aggSide. It sets work_mem so that a sort or hash may use as much memory as
// a stage in MongoDB.
func (s *postgresSide) loadOrders(ctx context.Context, d orders) error {
	if _, err := s.pool.Exec(ctx, postgresOrders); err != nil {
		return err
	}
	s.pool.Reset()
	columns := []string{"id", "doc"}
	_, err := s.pool.CopyFrom(ctx, pgx.Identifier{"orders"}, columns,
		pgx.CopyFromSlice(d.size, func(i int) ([]any, error) {
			doc, err := d.json(i)
			return []any{int64(i), doc}, err
		}))
	if err != nil {
		return err
	}
	_, err = s.pool.CopyFrom(ctx, pgx.Identifier{"customers"}, columns,
		pgx.CopyFromSlice(orderCustomers, func(i int) ([]any, error) {
			return []any{int64(i), d.customer(i)}, nil
		}))
	if err != nil {
		return err
	}
	for _, q := range []string{postgresOrderIndexes, "vacuum analyze", "checkpoint"} {
		if _, err := s.pool.Exec(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// ask implements aggSide.
func (s *postgresSide) ask(ctx context.Context, w aggWorkload) (answer, error) {
	var a answer
	rows, err := s.pool.Query(ctx, w.sql)
	if err != nil {
		return a, err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return a, err
		}
		total, ok := values[1].(float64)
		if !ok {
			return a, fmt.Errorf("the total is a %T", values[1])
		}
		a.rows++
		a.total += total
	}
	return a, rows.Err()
}
