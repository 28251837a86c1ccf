package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
)

// noCompiler is a compiler for collections without partial indexes and validators.
type noCompiler struct{}

func (noCompiler) Partial(bsonx.Doc, *collation.Collator) (table.Predicate, error) { return nil, nil }

func (noCompiler) Validator(bsonx.Doc, *collation.Collator) (table.Validator, error) { return nil, nil }

// matcher is a predicate made of a function.
type matcher func(doc bsonx.Doc) (bool, error)

func (m matcher) Match(doc bsonx.Doc) (bool, error) { return m(doc) }

// collection returns a collection with one document for each _id of ids, and a reader of it.
func collection(t *testing.T, ids []bsonx.Value) (*table.Collection, *Reader) {
	t.Helper()
	s, err := schema.Open(mem.New(), noCompiler{}, slog.New(slog.DiscardHandler), table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c, err := schema.Create(s, "db", "c", "collection", nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.BeginWrite(c)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, id := range ids {
		if err := w.Insert(context.Background(), bsonx.NewDoc("_id", id)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(storage.Buffered); err != nil {
		t.Fatal(err)
	}
	r := NewReader(s.Newest())
	r.Pin()
	t.Cleanup(func() { _ = r.Close() })
	return c, r
}

// ids returns the values of value(0) to value(n-1).
func ids(n int, value func(i int) bsonx.Value) []bsonx.Value {
	out := make([]bsonx.Value, n)
	for i := range out {
		out[i] = value(i)
	}
	return out
}

func intID(i int) bsonx.Value { return bsonx.Int32(int32(i)) }

// parallel returns a scan by up to four workers that share ranges from the start.
func parallel(c *table.Collection, r *Reader, filter table.Predicate) *parallelScan {
	p := newParallelScan(r, CollScanOptions{Coll: c, Filter: filter}, NewProcessors(4))
	p.after = 1
	return p
}

// meeting makes workers wait until a second worker has started, so that ranges are also shared in a
// test on one processor.
type meeting struct {
	workers atomic.Int32
	second  chan struct{}
}

func newMeeting() *meeting { return &meeting{second: make(chan struct{})} }

// enter is called by each worker at its start, and wait after some rows.
func (m *meeting) enter() {
	if m.workers.Add(1) == 2 {
		close(m.second)
	}
}

func (m *meeting) wait(t *testing.T) {
	select {
	case <-m.second:
	case <-time.After(10 * time.Second):
		t.Error("no second worker came")
	}
}

// TestParallelScanYieldsEachRecordOnce checks that each record is yielded by exactly one worker,
// for keys of many distributions.
func TestParallelScanYieldsEachRecordOnce(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	object := func(seconds, counter int) bsonx.Value {
		return bsonx.ObjectID([12]byte{
			0x66, 0, byte(seconds >> 8), byte(seconds), 1, 2, 3, 4, 5, byte(counter >> 16),
			byte(counter >> 8), byte(counter),
		})
	}
	tests := map[string][]bsonx.Value{
		"ints":      ids(5000, intID),
		"objectIDs": ids(5000, func(i int) bsonx.Value { return object(i/1000, i) }),
		"random":    ids(5000, func(int) bsonx.Value { return bsonx.Double(random.NormFloat64()) }),
		"texts":     ids(5000, func(i int) bsonx.Value { return bsonx.String(fmt.Sprintf("user%08d", i)) }),
		"prefixes":  ids(1000, func(i int) bsonx.Value { return bsonx.String(strings.Repeat("a", i)) }),
		"skewed": append(ids(4000, func(i int) bsonx.Value { return bsonx.String(fmt.Sprintf("zzzz%08d", i)) }),
			ids(1000, func(i int) bsonx.Value { return bsonx.Int64(int64(i) << 40) })...),
	}
	for name, values := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, r := collection(t, values)
			p := parallel(c, r, nil)
			m := newMeeting()
			var mu sync.Mutex
			var got [][]byte
			err := p.Run(context.Background(), func(ctx context.Context, in Node) error {
				m.enter()
				for n := 0; ; n++ {
					row, err := in.Next(ctx)
					if err != nil || row == nil {
						return err
					}
					mu.Lock()
					got = append(got, bytes.Clone(row.RecordKey))
					mu.Unlock()
					if n == 2*shareInterval {
						m.wait(t)
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(got, bytes.Compare)
			if unique := len(slices.CompactFunc(slices.Clone(got),
				bytes.Equal)); len(got) != len(values) || unique != len(got) {
				t.Errorf("%d records, %d of them different, want %d", len(got), unique, len(values))
			}
			if s := &p.stats; s.DocsExamined != uint64(len(values)) || s.Advanced != uint64(len(values)) {
				t.Errorf("examined %d, advanced %d, want %d", s.DocsExamined, s.Advanced, len(values))
			}
			if p.Workers() < 2 {
				t.Error("not shared")
			}
		})
	}
}

func TestParallelScanInterrupt(t *testing.T) {
	t.Parallel()
	c, r := collection(t, ids(5000, intID))
	killed := mongoerr.New(mongoerr.Interrupted, "operation was interrupted")
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	p := parallel(c, r, nil)
	var workers, ended atomic.Int32
	err := p.Run(ctx, func(ctx context.Context, in Node) error {
		defer ended.Add(1)
		if workers.Add(1) == 2 {
			cancel(killed)
		}
		for n := 0; ; n++ {
			row, err := in.Next(ctx)
			if err != nil || row == nil {
				return err
			}
			if n == 2*shareInterval {
				<-ctx.Done()
			}
		}
	})
	if !errors.Is(err, killed) || ended.Load() != workers.Load() {
		t.Errorf("error %v with %d of %d workers ended", err, ended.Load(), workers.Load())
	}
}

// TestParallelScanFailure checks that an error or a panic of one worker ends all workers, and that
// Run returns or repeats it.
func TestParallelScanFailure(t *testing.T) {
	t.Parallel()
	c, r := collection(t, ids(5000, intID))
	failure := errors.New("failed")
	run := func(t *testing.T, fail func() error) error {
		var workers atomic.Int32
		return parallel(c, r, nil).Run(context.Background(), func(ctx context.Context, in Node) error {
			if workers.Add(1) > 1 {
				return fail()
			}
			for {
				row, err := in.Next(ctx)
				if err != nil {
					return err
				}
				// The worker gets the ranges that others leave, but it does not wait for all of
				// them.
				if row == nil {
					return nil
				}
				if workers.Load() < 2 {
					time.Sleep(10 * time.Microsecond)
				}
			}
		})
	}
	t.Run("error", func(t *testing.T) {
		t.Parallel()
		if err := run(t, func() error { return failure }); !errors.Is(err, failure) {
			t.Errorf("error %v, want %v", err, failure)
		}
	})
	t.Run("panic", func(t *testing.T) {
		t.Parallel()
		defer func() {
			if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "broken") {
				t.Errorf("panic %v", v)
			}
		}()
		_ = run(t, func() error { panic("broken") })
		t.Error("no panic")
	})
}

// TestParallelCountReportsTheFirstError counts with a filter that fails on several records. The
// error must belong to the first of them in key order, as in a scan by one goroutine.
func TestParallelCountReportsTheFirstError(t *testing.T) {
	t.Parallel()
	const n = 3 * parallelAfter
	c, r := collection(t, ids(n, intID))
	filter := matcher(func(doc bsonx.Doc) (bool, error) {
		if id := doc.Lookup("_id").Int32(); id > parallelAfter && id%1000 == 999 {
			return false, fmt.Errorf("record %d", id)
		}
		return true, nil
	})
	for range 10 {
		env := NewEnv(r)
		count := NewCount(env, NewCollScan(env, CollScanOptions{Coll: c, Filter: filter}), 0, 0)
		count.Share(NewProcessors(4))
		_, err := count.Next(context.Background())
		count.Close()
		if err == nil || err.Error() != "record 8999" {
			t.Fatalf("error %v", err)
		}
	}
}

// TestProcessors checks that processors are lent only while fewer goroutines run than there are
// processors, where the callers' goroutines count too.
func TestProcessors(t *testing.T) {
	t.Parallel()
	p := NewProcessors(3)
	p.enter()
	for i, want := range []bool{true, true, false} {
		if p.borrow() != want {
			t.Errorf("borrow %d: %v, want %v", i, !want, want)
		}
	}
	p.enter()
	p.leave()
	if p.borrow() {
		t.Error("lent a fourth processor")
	}
	p.leave()
	if !p.borrow() {
		t.Error("did not lend what was given back")
	}
}

func TestBetween(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	key := func() []byte {
		b := make([]byte, random.IntN(12))
		for i := range b {
			b[i] = byte(random.IntN(3)) * 0x7f
		}
		return b
	}
	for range 10_000 {
		a, b := key(), key()
		m := between(a, b)
		if m == nil {
			continue
		}
		if bytes.Compare(a, b) >= 0 || bytes.Compare(m, a) <= 0 {
			t.Fatalf("between(%x, %x) = %x", a, b, m)
		}
	}
	if m := between([]byte("user00000000"), []byte("user00000100")); string(m[:9]) != "user00000" || m[9] != '0' {
		t.Errorf("middle %q", m)
	}
}
