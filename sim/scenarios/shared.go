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

// still is embedded in scenarios whose Teardown has nothing to do.
type still struct{}

// Teardown implements scenario.Scenario.
func (still) Teardown(context.Context) error { return nil }

// whole returns a parameter that is an integer between low and high. If high is 0, there is no
// upper bound.
func whole(name, doc string, value, low, high int) scenario.Param {
	return scenario.Param{Name: name, Doc: doc, Default: value, Min: float64(low), Max: float64(high)}
}

// flag returns a boolean parameter.
func flag(name, doc string, value bool) scenario.Param {
	return scenario.Param{Name: name, Doc: doc, Default: value}
}

// choice returns a parameter whose value is one of several strings. The first is the default.
func choice(name, doc string, values ...string) scenario.Param {
	return scenario.Param{Name: name, Doc: doc, Default: values[0], OneOf: values}
}

// fillBatch is the number of documents that Setup inserts with one command.
const fillBatch = 1000

// fill inserts n documents in batches.
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

// letters returns a random text of n bytes.
func letters(r *rand.Rand, n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = 'a' + byte(r.IntN(26))
	}
	return string(out)
}

// unsure returns how many actions have an unknown outcome: the actions of users who failed or were
// cut. each is the number of actions of a user.
func unsure(t scenario.Tally, each int) int64 { return (t.Failed + t.Cut) * int64(each) }

// counted compares a number found in the database with the number that users have counted. It
// returns a violation unless found is at least counted, and at most counted plus unsure.
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

// set is a set of small numbers, such as user numbers, stored as bits.
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

// popular returns a random number below n. Smaller numbers are more frequent.
func popular(r *rand.Rand, n int) int {
	if n == 1 {
		return 0
	}
	return int(rand.NewZipf(r, 1.1, 1, uint64(n-1)).Uint64())
}

// setupWorkers is the number of goroutines that Setup uses.
const setupWorkers = 8

// eachOf calls fn for each number from 0 to n-1, in several goroutines.
func eachOf(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(setupWorkers)
	for i := range n {
		g.Go(func() error { return fn(ctx, i) })
	}
	return g.Wait()
}

// drain reads a cursor to its end, and returns the number of documents.
func drain(ctx context.Context, cur *mongo.Cursor) (n int, err error) {
	for cur.Next(ctx) {
		n++
	}
	if err := errors.Join(cur.Err(), cur.Close(ctx)); err != nil {
		return n, fmt.Errorf("read to the end: %w", err)
	}
	return n, nil
}

// sumOf returns the sum of an expression over all documents of a collection.
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

// isFull reports whether a capped collection is so full that another document would probably remove
// an old one.
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
