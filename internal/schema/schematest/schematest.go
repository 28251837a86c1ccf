package schematest

import (
	"context"
	"encoding/binary"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// Compiler is a compiler that treats every partial filter as "n is even".
type Compiler struct{}

type evenOnly struct{}

func (evenOnly) Match(doc bsonx.Doc) (bool, error) {
	n, ok := doc.Lookup("n").AsInt64()
	return ok && n%2 == 0, nil
}

// Partial returns a predicate for documents whose n is even.
func (Compiler) Partial(bsonx.Doc, *collation.Collator) (table.Predicate, error) {
	return evenOnly{}, nil
}

// Validator returns nil: collections have no validators in these tests.
func (Compiler) Validator(bsonx.Doc, *collation.Collator) (table.Validator, error) { return nil, nil }

// Open opens the collections of an engine, and closes the store when the test ends.
func Open(t testing.TB, engine storage.Engine) *table.Store {
	t.Helper()
	s, err := schema.Open(engine, Compiler{}, slog.New(slog.DiscardHandler), table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Insert adds a document in its own transaction.
func Insert(s *table.Store, c *table.Collection, doc bsonx.Doc) error {
	w, err := s.BeginWrite(c)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Insert(context.Background(), doc); err != nil {
		return err
	}
	return w.Commit(storage.Buffered)
}

// Change applies fn to the record with that _id. If fn returns nil, the record is deleted.
func Change(s *table.Store, c *table.Collection, id bsonx.Value, fn func(old bsonx.Doc) bsonx.Doc) error {
	w, err := s.BeginWrite(c)
	if err != nil {
		return err
	}
	defer w.Close()
	key := c.RecordKey(nil, id)
	old, err := w.Lock(context.Background(), key, nil)
	if err != nil || old == nil {
		return err
	}
	if doc := fn(old); doc == nil {
		err = w.Delete(key, old)
	} else {
		err = w.Update(context.Background(), key, old, doc, table.Modification)
	}
	if err != nil {
		return err
	}
	return w.Commit(storage.Buffered)
}

// Spec returns the specification of an index. options are names and values in turn.
func Spec(name string, key bsonx.Doc, options ...any) bsonx.Doc {
	return bsonx.NewDoc(append([]any{"v", 2, "key", key, "name", name}, options...)...)
}

// MustValid validates a collection, and fails the test if it is damaged.
func MustValid(t testing.TB, s *table.Store, c *table.Collection) *table.Validation {
	t.Helper()
	v, err := s.Validate(context.Background(), c, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, msg := range v.Errors {
		t.Fatalf("validate: %s", msg)
	}
	return v
}

// NoError fails the test if err is not nil.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// StepContext calls Step each time a build checks whether it was interrupted, which is between two
// of its steps.
type StepContext struct {
	context.Context
	Step func(n int)
	n    atomic.Int32
}

// Done calls Step with the number of calls so far.
func (c *StepContext) Done() <-chan struct{} {
	c.Step(int(c.n.Add(1)))
	return c.Context.Done()
}

// OpenLogged opens the collections of an engine with an oplog. If o has no clock, the clock stands
// at 1000 seconds after 1970.
func OpenLogged(t testing.TB, engine storage.Engine, o table.Options) *table.Store {
	t.Helper()
	if o.Clock == nil {
		o.Clock = clock.Fixed(time.Unix(1000, 0))
	}
	s, err := schema.OpenLogged(engine, Compiler{}, slog.New(slog.DiscardHandler), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Entries returns the oplog as text, without the fields that differ from run to run.
func Entries(t testing.TB, s *table.Store) []string {
	t.Helper()
	var out []string
	c := s.Lookup("local", "oplog.rs")
	snap := s.Engine().NewSnapshot()
	defer snap.Close()
	it, err := snap.NewIter(c.RecordPrefix(), keyspace.PrefixEnd(c.RecordPrefix()))
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	var last storage.Stamp
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.Value()
		if err != nil {
			t.Fatal(err)
		}
		doc := bsonx.Doc(value)
		seconds, number := doc.Lookup("ts").Timestamp()
		if stamp := storage.NewStamp(seconds,
			number); stamp != storage.Stamp(binary.BigEndian.Uint64(it.Key()[len(it.Key())-8:])) || stamp <= last {
			t.Errorf("stamp %x under %x after %x", stamp, it.Key(), last)
		} else {
			last = stamp
		}
		if doc.Lookup("t").Int64() != 1 || doc.Lookup("v").Int64() != 2 || doc.Lookup("wall").Type != bsonx.TypeDate {
			t.Errorf("entry %v", bson.Raw(doc))
		}
		b := bsonx.NewBuilder(nil)
		b.StartDoc()
		for f := doc.Iter(); f.Next(); {
			switch string(f.Key()) {
			case "ts", "t", "v", "wall", "ui":
			default:
				b.ValueBytes(f.Key(), f.Value())
			}
		}
		b.End()
		out = append(out, bson.Raw(b.Bytes()).String())
	}
	return out
}
