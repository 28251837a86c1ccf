package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/sync/errgroup"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// still is part of scenarios that have nothing to end.
type still struct{}

// Teardown implements scenario.Scenario.
func (still) Teardown(context.Context) error { return nil }

// whole is a parameter that is a whole number from low on. A high of 0 is no bound.
func whole(name, doc string, value, low, high int) scenario.Param {
	return scenario.Param{Name: name, Doc: doc, Default: value, Min: float64(low), Max: float64(high)}
}

// flag is a parameter that is true or false.
func flag(name, doc string, value bool) scenario.Param {
	return scenario.Param{Name: name, Doc: doc, Default: value}
}

// choice is a parameter that is one of several texts; the first is the default.
func choice(name, doc string, values ...string) scenario.Param {
	return scenario.Param{Name: name, Doc: doc, Default: values[0], OneOf: values}
}

// fillBatch is how many documents one insert of a Setup has at most.
const fillBatch = 1000

// fill inserts n documents.
func fill(ctx context.Context, coll *mongo.Collection, n int, document func(i int) any) error {
	docs := make([]any, 0, min(n, fillBatch))
	for i := range n {
		docs = append(docs, document(i))
		if len(docs) < fillBatch && i < n-1 {
			continue
		}
		if _, err := coll.InsertMany(ctx, docs, options.InsertMany().SetOrdered(false)); err != nil {
			return fmt.Errorf("fill %s: %w", coll.Name(), err)
		}
		docs = docs[:0]
	}
	return nil
}

// letters returns a text of n bytes.
func letters(r *rand.Rand, n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = 'a' + byte(r.IntN(26))
	}
	return string(out)
}

// unsure returns how much of what users do, each of them so often, may be done or not: those that
// failed or were cut do not know.
func unsure(t scenario.Tally, each int) int64 { return (t.Failed + t.Cut) * int64(each) }

// counted compares a figure that was found with what users have counted. What is between that and
// as many more as they are unsure of is right.
func counted(rule, where string, found, counted, unsure int64) []patterns.Violation {
	if found >= counted && found <= counted+unsure {
		return nil
	}
	detail := fmt.Sprintf("%d were found, and the users have counted %d", found, counted)
	if unsure > 0 {
		detail += fmt.Sprintf(" to %d", counted+unsure)
	}
	return []patterns.Violation{{Rule: rule, Collection: where, Detail: detail}}
}

// countOf counts the documents that a filter finds.
func countOf(ctx context.Context, coll *mongo.Collection, filter bson.D) (int64, error) {
	n, err := coll.CountDocuments(ctx, filter)
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", coll.Name(), err)
	}
	return n, nil
}

// set is a set of small numbers, such as those of users, as its bits.
type set []byte

// add adds a number, and reports whether it is new.
func (s *set) add(n int64) bool {
	if s.has(n) {
		return false
	}
	at := int(n / 8)
	if at >= len(*s) {
		*s = append(*s, make([]byte, at+1-len(*s))...)
	}
	(*s)[at] |= 1 << (n % 8)
	return true
}

// has reports whether a number is in the set.
func (s *set) has(n int64) bool {
	at := int(n / 8)
	return at < len(*s) && (*s)[at]&(1<<(n%8)) != 0
}

// popular picks one of n, of which the first are picked more often than the others.
func popular(r *rand.Rand, n int) int {
	if n == 1 {
		return 0
	}
	return int(rand.NewZipf(r, 1.1, 1, uint64(n-1)).Uint64())
}

// setupWorkers is how many goroutines a Setup has.
const setupWorkers = 8

// eachOf calls fn for 0 to n-1, several at a time.
func eachOf(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(setupWorkers)
	for i := range n {
		g.Go(func() error { return fn(ctx, i) })
	}
	return g.Wait()
}

// drain reads what a cursor has, and returns how many documents that were.
func drain(ctx context.Context, cur *mongo.Cursor) (n int, err error) {
	for cur.Next(ctx) {
		n++
	}
	if err := errors.Join(cur.Err(), cur.Close(ctx)); err != nil {
		return n, fmt.Errorf("read to the end: %w", err)
	}
	return n, nil
}

// sumOf sums up an expression over all documents of a collection.
func sumOf(ctx context.Context, coll *mongo.Collection, of any) (int64, error) {
	found, err := coll.Aggregate(ctx, mongo.Pipeline{
		{{"$group", bson.D{{"_id", nil}, {"n", bson.D{{"$sum", of}}}}}},
		{{"$project", bson.D{{"n", bson.D{{"$toLong", "$n"}}}}}},
	})
	if err != nil {
		return 0, fmt.Errorf("sum up %s: %w", coll.Name(), err)
	}
	var sums []struct{ N int64 }
	if err := found.All(ctx, &sums); err != nil {
		return 0, fmt.Errorf("sum up %s: %w", coll.Name(), err)
	}
	if len(sums) == 0 {
		return 0, nil
	}
	return sums[0].N, nil
}

// isFull reports whether a capped collection has hardly room for another document without an older
// one going.
func isFull(ctx context.Context, coll *mongo.Collection, size int64) (bool, error) {
	var stats struct {
		Size       int64 `bson:"size"`
		AvgObjSize int64 `bson:"avgObjSize"`
	}
	if err := coll.Database().
		RunCommand(ctx, bson.D{{"collStats", coll.Name()}}).Decode(&stats); err != nil {
		return false, fmt.Errorf("ask for the size of %s: %w", coll.Name(), err)
	}
	return stats.Size+2*stats.AvgObjSize > size, nil
}
