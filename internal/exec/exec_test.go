package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// rows is a node that yields documents from memory.
type rows struct {
	base
	docs []bsonx.Doc
	next int
	row  Row
	// prefix is the common prefix of the record keys.
	prefix string
}

func newRows(env *Env, docs []bsonx.Doc) *rows { return &rows{base: base{env: env}, docs: docs} }

func (n *rows) Next(ctx context.Context) (*Row, error) {
	if n.next == len(n.docs) {
		return n.end()
	}
	if err := n.env.step(ctx); err != nil {
		return nil, err
	}
	n.stats.Works++
	n.row.Doc = n.docs[n.next]
	n.row.RecordKey = []byte(n.key(n.next))
	n.next++
	return n.emit(&n.row)
}

func (n *rows) IsEOF() bool { return n.stats.IsEOF }

func (n *rows) key(i int) string { return fmt.Sprintf("%s%06d", n.prefix, i) }

// memoryReader is a reader of the records in a map, by record key.
type memoryReader map[string]bsonx.Doc

func (r memoryReader) Get(key []byte) ([]byte, io.Closer, error) {
	doc, ok := r[string(key)]
	if !ok {
		return nil, nil, storage.ErrNotFound
	}
	return doc, io.NopCloser(nil), nil
}

func (memoryReader) NewIter(_, _ []byte) (storage.Iterator, error) { panic("not needed") }

func numbers(n int) []bsonx.Doc {
	random := rand.New(rand.NewPCG(1, 2))
	out := make([]bsonx.Doc, n)
	for i := range out {
		out[i] = bsonx.NewDoc("_id", i, "n", int(random.Uint32N(50)), "pad", fmt.Sprintf("%040d", i))
	}
	return out
}

var byN = index.Pattern{{Path: "n"}}

// drain pulls all rows of a node. It continues after pauses.
func drain(t *testing.T, env *Env, n Node) []bsonx.Doc {
	t.Helper()
	var out []bsonx.Doc
	for {
		row, err := n.Next(context.Background())
		switch {
		case errors.Is(err, ErrPaused):
			env.SetLimit(env.Works() + 3)
		case err != nil:
			t.Fatal(err)
		case row == nil:
			return out
		default:
			out = append(out, row.Doc.Clone())
		}
	}
}

func sorted(docs []bsonx.Doc) []bsonx.Doc {
	out := slices.Clone(docs)
	slices.SortStableFunc(out, func(a, b bsonx.Doc) int {
		return bsonx.CompareValues(a.Lookup("n"), b.Lookup("n"))
	})
	return out
}

func equal(a, b []bsonx.Doc) bool { return slices.EqualFunc(a, b, bsonx.Doc.Equal) }

func TestSort(t *testing.T) {
	t.Parallel()
	docs := numbers(2000)
	want := sorted(docs)
	tests := []struct {
		name   string
		memory int
		limit  int64
	}{
		{"memory", limits.OperatorBytes, 0},
		{"top", limits.OperatorBytes, 37},
		{"spill", 20 << 10, 0},
		{"spill top", 5 << 10, 150},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := NewEnv(nil)
			env.TempDir, env.SortMemory, env.AllowDiskUse = t.TempDir(), tt.memory, true
			n := NewSort(env, newRows(env, docs), DocumentKey(byN, nil), tt.limit)
			got := drain(t, env, n)
			n.Close()
			expect := want
			if tt.limit > 0 {
				expect = want[:tt.limit]
			}
			if !equal(got, expect) {
				t.Errorf("%d rows in the wrong order, want %d", len(got), len(expect))
			}
			if spilled := n.Stats().Spills > 0; spilled != (tt.memory < limits.OperatorBytes) {
				t.Errorf("spills: %d", n.Stats().Spills)
			}
			if left, _ := os.ReadDir(env.TempDir); len(left) > 0 {
				t.Errorf("%d files left behind", len(left))
			}
		})
	}
}

// TestSortHoldsLargeRows sorts documents by a field of 2 MiB. The sort must reserve the memory for
// the copy and for the sort key before it allocates them.
func TestSortHoldsLargeRows(t *testing.T) {
	t.Parallel()
	const size = 2 << 20
	docs := make([]bsonx.Doc, 6)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", i, "n", strings.Repeat(string(rune('f'-i)), size))
	}
	for _, c := range []struct {
		limit, memory int64
		want          mongoerr.Code
	}{
		{limit: 0, memory: size, want: mongoerr.ExceededMemoryLimit},
		{limit: 2, memory: size, want: mongoerr.ExceededMemoryLimit},
		{limit: 0, memory: 12 * size},
		{limit: 2, memory: 12 * size},
	} {
		budget := memory.New(c.memory)
		env := NewEnv(nil)
		env.TempDir, env.AllowDiskUse, env.Memory = t.TempDir(), true, budget
		n := NewSort(env, newRows(env, docs), DocumentKey(byN, nil), c.limit)
		n.ByDocument(byN)
		row, err := n.Next(context.Background())
		if mongoerr.CodeOf(err) != c.want || err == nil && row.Doc.Lookup("_id").Int32() != int32(len(docs)-1) {
			t.Errorf("limit %d, %d bytes of memory: %v", c.limit, c.memory, err)
		}
		if peak := budget.Stats().Peak; err == nil && peak < 4*size {
			t.Errorf("limit %d: %d bytes were counted", c.limit, peak)
		}
		if n.Close(); budget.Stats().Used != 0 {
			t.Errorf("limit %d: %d bytes are counted after the end", c.limit, budget.Stats().Used)
		}
	}
}

func TestSortMemoryLimit(t *testing.T) {
	t.Parallel()
	env := NewEnv(nil)
	env.SortMemory = 10 << 10
	n := NewSort(env, newRows(env, numbers(2000)), DocumentKey(byN, nil), 0)
	defer n.Close()
	_, err := n.Next(context.Background())
	if code := mongoerr.CodeOf(err); code != mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed {
		t.Errorf("code %d, want 292", code)
	}
}

// TestPause checks that a tree that is paused every few works yields the same rows as a tree that
// is never paused.
func TestPause(t *testing.T) {
	t.Parallel()
	docs := numbers(100)
	trees := map[string]func(env *Env) Node{
		"sort":  func(env *Env) Node { return NewSort(env, newRows(env, docs), DocumentKey(byN, nil), 0) },
		"limit": func(env *Env) Node { return NewLimit(env, NewSkip(env, newRows(env, docs), 10), 20) },
		"or":    func(env *Env) Node { return NewOr(env, []Node{newRows(env, docs[:60]), newRows(env, docs)}) },
		"merge": func(env *Env) Node {
			in := []Node{newRows(env, sorted(docs[:30])), newRows(env, sorted(docs[30:]))}
			return NewSortMerge(env, nil, in, DocumentKey(byN, nil), false)
		},
	}
	for name, tree := range trees {
		free := NewEnv(nil)
		want := drain(t, free, tree(free))
		env := NewEnv(nil)
		env.SetLimit(1)
		if got := drain(t, env, tree(env)); !equal(got, want) {
			t.Errorf("%s: %d rows after pauses, want %d", name, len(got), len(want))
		}
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(context.Background())
	killed := mongoerr.New(mongoerr.Interrupted, "operation was interrupted")
	cancel(killed)
	env := NewEnv(nil)
	n := NewSort(env, newRows(env, numbers(2000)), DocumentKey(byN, nil), 0)
	defer n.Close()
	if _, err := n.Next(ctx); !errors.Is(err, killed) {
		t.Errorf("error %v, want %v", err, killed)
	}
}

// TestMergeSave checks that the rows that a merge has already pulled from its inputs survive Save,
// although the inputs release the rows' memory.
func TestMergeSave(t *testing.T) {
	t.Parallel()
	docs := numbers(40)
	in := [][]bsonx.Doc{sorted(docs[:20]), sorted(docs[20:])}
	records := memoryReader{}
	env := NewEnv(records)
	var inputs []Node
	for i, docs := range in {
		r := newRows(env, docs)
		r.prefix = strconv.Itoa(i)
		for j, doc := range docs {
			records[r.key(j)] = doc
		}
		inputs = append(inputs, r)
	}
	n := NewSortMerge(env, nil, inputs, DocumentKey(byN, nil), true)
	var got []bsonx.Doc
	for {
		row, err := n.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if row == nil {
			break
		}
		got = append(got, row.Doc.Clone())
		n.Save()
	}
	if len(got) != len(docs) {
		t.Errorf("%d rows of %d", len(got), len(docs))
	}
	key := func(d bsonx.Doc) int32 { return d.Lookup("n").Int32() }
	if !slices.IsSortedFunc(got, func(a, b bsonx.Doc) int { return int(key(a) - key(b)) }) {
		t.Error("not in order")
	}
}
