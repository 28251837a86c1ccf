package adversarial

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

var workloadBudget = flag.Int64("adversarial.budget", 256, "the memory budget in MiB under which the workloads run")

// budgetSlack is the divisor for the memory that a server may take above its budget: a quarter of
// the budget.
const budgetSlack = 4

// workload is an ordinary load. Each request needs little memory, and all of them together must
// stay within the budget.
type workload struct {
	name string
	// documents is the number of documents loaded first, of size bytes each. operations is the
	// number of operations of all clients together. sizes reduces both numbers without
	// -adversarial.long.
	documents, size, operations int
	step                        func(*client) error
}

// client is one of the concurrent clients.
type client struct {
	ctx  context.Context
	coll *mongo.Collection
	rng  *rand.Rand
	load *workload
	last *atomic.Int64 // the highest _id
}

// document returns a document of a workload: it has ten fields, like the documents of YCSB.
func (w *workload) document(id int64) bson.D {
	doc := bson.D{{"_id", id}, {"g", id % 1000}}
	for i := range 10 {
		doc = append(doc, bson.E{
			fmt.Sprintf("field%d", i),
			strings.Repeat(string(rune('a'+(int(id)+i)%26)), w.size/10),
		})
	}
	return doc
}

func (c *client) any() int64 { return c.rng.Int64N(c.last.Load()) + 1 }

func (c *client) insert() error {
	_, err := c.coll.InsertOne(c.ctx, c.load.document(c.last.Add(1)))
	return err
}

// scan reads up to n documents in the order of their _id.
func (c *client) scan(n int64) error {
	cur, err := c.coll.Find(c.ctx, bson.D{{"_id", bson.D{{"$gte", c.any()}}}},
		options.Find().SetLimit(1+c.rng.Int64N(n)).SetSort(bson.D{{"_id", 1}}))
	if err != nil {
		return err
	}
	for cur.Next(c.ctx) {
	}
	return cur.Err()
}

func (c *client) update() error {
	set := bson.D{{"$set", bson.D{{"field3", strings.Repeat("u", c.load.size/10)}}}}
	_, err := c.coll.UpdateOne(c.ctx, bson.D{{"_id", c.any()}}, set)
	return err
}

func (c *client) aggregate(stages ...bson.D) error {
	cur, err := c.coll.Aggregate(c.ctx, stages)
	if err != nil {
		return err
	}
	for cur.Next(c.ctx) {
	}
	return cur.Err()
}

func stage(name string, value any) bson.D { return bson.D{{name, value}} }

func workloads() []workload {
	return []workload{
		{"YCSB-E", 200_000, 1000, 60_000, func(c *client) error {
			if c.rng.IntN(20) == 0 {
				return c.insert()
			}
			return c.scan(100)
		}},
		{"inserts", 1000, 1000, 200_000, (*client).insert},
		{"updates", 200_000, 1000, 100_000, (*client).update},
		{"reads and updates", 200_000, 1000, 100_000, func(c *client) error {
			if c.rng.IntN(2) == 0 {
				return c.update()
			}
			return c.coll.FindOne(c.ctx, stage("_id", c.any())).Err()
		}},
		{"large documents", 200, 1_000_000, 2000, func(c *client) error {
			switch c.rng.IntN(4) {
			case 0:
				return c.insert()
			case 1:
				return c.update()
			default:
				return c.scan(10)
			}
		}},
		{"aggregations", 200_000, 1000, 320, func(c *client) error {
			switch c.rng.IntN(3) {
			case 0:
				return c.aggregate(stage("$group",
					bson.D{{"_id", "$g"}, {"n", stage("$sum", 1)}}))
			case 1:
				return c.aggregate(stage("$sort",
					bson.D{{"field1", -1}, {"_id", 1}}), stage("$limit", 20_000))
			default:
				return c.aggregate(stage("$match", stage("_id", stage("$gte", c.any()))), stage("$limit", 10_000))
			}
		}},
		{"whole collection", 200_000, 1000, 64, func(c *client) error {
			return c.aggregate(stage("$match", stage("g", stage("$gte", 0))))
		}},
	}
}

// fill loads the documents of a workload.
func (w *workload) fill(t *testing.T, coll *mongo.Collection, n int) {
	t.Helper()
	batch := max(1, 1_000_000/w.size)
	for id := 0; id < n; {
		var docs []any
		for ; len(docs) < batch && id < n; id++ {
			docs = append(docs, w.document(int64(id+1)))
		}
		if _, err := coll.InsertMany(t.Context(), docs); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *workload) sizes() (documents, operations int) {
	if *long {
		return w.documents, w.operations
	}
	return max(100, w.documents/20), max(32, w.operations/50)
}

// TestMemoryOfWorkloads runs ordinary loads with 16 clients. The memory that the kernel counts for
// the server must stay near the budget. At most a tenth of the operations may be refused for lack
// of memory (146), when sorts of several clients coincide.
func TestMemoryOfWorkloads(t *testing.T) {
	needsServer(t)
	for _, w := range workloads() {
		t.Run(w.name, func(t *testing.T) { w.run(t, *workloadBudget<<20) })
	}
}

func (w *workload) run(t *testing.T, budget int64) {
	c := startServer(t, budget, "")
	coll := c.client(t).Database("d").Collection("c")
	documents, operations := w.sizes()
	w.fill(t, coll, documents)
	var last, left, failed atomic.Int64
	last.Store(int64(documents))
	left.Store(int64(operations))
	loaded, start := c.status(t, "VmHWM"), time.Now()
	together(attackers, func(i int) {
		one := &client{ctx: t.Context(), coll: coll, rng: rand.New(rand.NewPCG(uint64(i), 1)), load: w, last: &last}
		for left.Add(-1) >= 0 {
			if err := w.step(one); err != nil {
				failed.Add(1)
				if refused := (mongo.CommandError{}); !errors.As(err, &refused) || refused.Code != 146 {
					t.Errorf("an operation failed: %v", err)
				}
			}
		}
	})
	peak := c.status(t, "VmHWM")
	t.Logf("%d documents, %d operations in %v, %d failed: budget %d MiB, after loading %d MiB, peak %d MiB (%.2f)", documents,
		operations, time.Since(start).Round(time.Millisecond), failed.Load(), budget>>20, loaded>>20, peak>>20,
		float64(peak)/float64(budget))
	if n := failed.Load(); n > int64(operations/10) {
		t.Errorf("%d of %d operations were refused", n, operations)
	}
	if peak > budget+budget/budgetSlack {
		t.Errorf("the server took %d MiB of a budget of %d MiB", peak>>20, budget>>20)
	}
}
