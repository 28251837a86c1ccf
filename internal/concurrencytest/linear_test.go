package concurrencytest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

type kind int

const (
	opFind kind = iota
	opFindByIndex
	opInsert
	opDelete
	opSet
	opCompareAndSet
	opUpsertInc
	opIncAndGet
	opRemoveAndGet
	opKinds
)

var kindNames = [...]string{
	"find", "find by index", "insert", "delete", "set", "compare and set", "upsert inc",
	"inc and get", "remove and get",
}

// request is one operation on the document with a key. arg is the number that the operation adds or
// sets. old is the number that it expects.
type request struct {
	key      int
	kind     kind
	arg, old int64
}

// answer is the reply to a request. ok reports whether the document existed, or whether an insert
// was done. n is the number of the document, if the reply shows it.
type answer struct {
	ok bool
	n  int64
}

// document is the state of a document in the model. n is its number.
type document struct {
	exists bool
	n      int64
}

// step returns the reply to a single operation, and the new state.
func (d document) step(r request) (answer, document) {
	switch r.kind {
	case opFind, opFindByIndex:
		return answer{d.exists, d.n}, d
	case opInsert:
		if d.exists {
			return answer{}, d
		}
		return answer{ok: true}, document{true, r.arg}
	case opDelete:
		return answer{ok: d.exists}, document{}
	case opSet:
		if !d.exists {
			return answer{}, d
		}
		return answer{ok: true}, document{true, r.arg}
	case opCompareAndSet:
		if !d.exists || d.n != r.old {
			return answer{}, d
		}
		return answer{ok: true}, document{true, r.arg}
	case opUpsertInc:
		return answer{ok: d.exists}, document{true, d.n + r.arg}
	case opIncAndGet:
		if !d.exists {
			return answer{}, d
		}
		return answer{true, d.n + r.arg}, document{true, d.n + r.arg}
	case opRemoveAndGet:
		return answer{d.exists, d.n}, document{}
	default:
		panic("no such operation")
	}
}

var model = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[int][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(request).key
			byKey[key] = append(byKey[key], op)
		}
		var out [][]porcupine.Operation
		for _, ops := range byKey {
			out = append(out, ops)
		}
		return out
	},
	Init: func() any { return document{} },
	Step: func(state, input, output any) (bool, any) {
		want, after := state.(document).step(input.(request))
		return want == output.(answer), after
	},
	DescribeOperation: func(input, output any) string {
		r, got := input.(request), output.(answer)
		return fmt.Sprintf("%s %d arg %d old %d -> %v %d", kindNames[r.kind], r.key, r.arg, r.old, got.ok, got.n)
	},
}

// perform sends the request to the server and returns the answer.
func perform(ctx context.Context, c *mongo.Collection, r request) (answer, error) {
	id := doc("_id", r.key)
	found := func(res *mongo.SingleResult) (answer, error) {
		var d struct{ N int64 }
		err := res.Decode(&d)
		if errors.Is(err, mongo.ErrNoDocuments) {
			return answer{}, nil
		}
		return answer{true, d.N}, err
	}
	updated := func(res *mongo.UpdateResult, err error) (answer, error) {
		if err != nil {
			return answer{}, err
		}
		return answer{ok: res.MatchedCount == 1}, nil
	}
	inc, set := doc("$inc", doc("n", r.arg)), doc("$set", doc("n", r.arg))
	switch r.kind {
	case opFind:
		return found(c.FindOne(ctx, id))
	case opFindByIndex:
		return found(c.FindOne(ctx, doc("k", r.key)))
	case opInsert:
		_, err := c.InsertOne(ctx, doc("_id", r.key, "k", r.key, "n", r.arg))
		if mongo.IsDuplicateKeyError(err) {
			return answer{}, nil
		}
		return answer{ok: err == nil}, err
	case opDelete:
		res, err := c.DeleteOne(ctx, id)
		if err != nil {
			return answer{}, err
		}
		return answer{ok: res.DeletedCount == 1}, nil
	case opSet:
		return updated(c.UpdateOne(ctx, doc("k", r.key), set))
	case opCompareAndSet:
		return updated(c.UpdateOne(ctx, append(id, bson.E{"n", r.old}), set))
	case opUpsertInc:
		// Each upsert sets the key of the index again, so that it does not matter which one
		// inserts.
		return updated(c.UpdateOne(ctx, id, append(inc, bson.E{"$set", doc("k", r.key)}),
			options.UpdateOne().SetUpsert(true)))
	case opIncAndGet:
		return found(c.FindOneAndUpdate(ctx, id, inc, options.FindOneAndUpdate().SetReturnDocument(options.After)))
	case opRemoveAndGet:
		return found(c.FindOneAndDelete(ctx, doc("k", r.key)))
	default:
		panic("no such operation")
	}
}

// TestLinearizable runs random operations of several clients on a few documents, and searches for
// an order that explains the replies.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, db *mongo.Database) {
		c := db.Collection("c")
		index := mongo.IndexModel{Keys: doc("k", 1), Options: options.Index().SetUnique(true)}
		if _, err := c.Indexes().CreateOne(t.Context(), index); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var history []porcupine.Operation
		start := time.Now()
		together(t, clients, func(ctx context.Context, client int, rng *rand.Rand) {
			r := request{
				key: rng.IntN(4), kind: kind(rng.IntN(int(opKinds))),
				arg: rng.Int64N(3) + 1, old: rng.Int64N(6),
			}
			if (r.kind == opDelete || r.kind == opRemoveAndGet) && rng.IntN(2) == 0 {
				r.kind = opIncAndGet
			}
			call := time.Since(start)
			a, err := perform(ctx, c, r)
			if err != nil {
				t.Errorf("%s: %v", kindNames[r.kind], err)
				return
			}
			op := porcupine.Operation{
				ClientId: client, Input: r, Call: int64(call), Output: a,
				Return: int64(time.Since(start)),
			}
			mu.Lock()
			defer mu.Unlock()
			history = append(history, op)
		})
		result := porcupine.CheckOperationsTimeout(model, history, 10*time.Second)
		t.Logf("%d operations: %s", len(history), result)
		if result == porcupine.Illegal {
			t.Error("the history is not linearizable")
		}
		validate(t, c)
	})
}
