package concurrencytest

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/torture"
)

const clients = 8

// onEachEngine runs a test on an empty database of each engine. The long form repeats the test.
func onEachEngine(t *testing.T, test func(t *testing.T, db *mongo.Database)) {
	t.Helper()
	for _, engine := range []string{"memory", "pebble"} {
		t.Run(engine, func(t *testing.T) {
			for run := torture.Begin(t); run.Next(1, time.Hour); {
				t.Run(strconv.Itoa(run.Rounds()), func(t *testing.T) { onEngine(t, engine, test) })
			}
		})
	}
}

func onEngine(t *testing.T, engine string, test func(t *testing.T, db *mongo.Database)) {
	dir := sheaf.Memory
	if engine == "pebble" {
		dir = t.TempDir()
	}
	db, err := sheaf.Open(dir, &sheaf.Options{SlowOperation: -1, Sync: sheaf.SyncOnRequest})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	test(t, db.Client().Database("test"))
}

// roundTime returns how long the clients of a test work. A longer history would take too long to
// check.
func roundTime() time.Duration {
	return min(torture.Time(time.Second), time.Second)
}

// together runs a function in n clients until the time is over or one has failed. Each client has
// its own random generator.
func together(t *testing.T, n int, fn func(ctx context.Context, client int, rng *rand.Rand)) {
	t.Helper()
	run := torture.Begin(t)
	ctx, cancel := context.WithTimeout(t.Context(), roundTime())
	defer cancel()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			rng := run.Rand(i)
			for ctx.Err() == nil && !t.Failed() {
				// The operation itself is not interrupted, so its outcome is known.
				fn(t.Context(), i, rng)
			}
		})
	}
	wg.Wait()
}

func doc(pairs ...any) bson.D {
	out := bson.D{}
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, bson.E{pairs[i].(string), pairs[i+1]})
	}
	return out
}

// all returns the documents of a find.
func all(ctx context.Context, t *testing.T, c *mongo.Collection, filter bson.D) []bson.Raw {
	cursor, err := c.Find(ctx, filter)
	if err != nil {
		t.Error(err)
		return nil
	}
	var out []bson.Raw
	if err := cursor.All(ctx, &out); err != nil {
		t.Error(err)
	}
	return out
}

func validate(t *testing.T, c *mongo.Collection) {
	t.Helper()
	var v struct {
		Valid  bool
		Errors []string
	}
	if err := c.Database().RunCommand(t.Context(), doc("validate", c.Name(), "full", true)).Decode(&v); err != nil {
		t.Fatal(err)
	}
	if !v.Valid {
		t.Errorf("not valid: %q", v.Errors)
	}
}
