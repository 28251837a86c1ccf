package extsort

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/sheafdb/sheaf/internal/interrupt/interrupttest"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

const plenty = 100 << 20

// randomEntries returns entries, many of which have equal keys. The body begins with the number of
// the entry.
func randomEntries(n int) []Entry {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	out := make([]Entry, n)
	for i := range out {
		key := fmt.Appendf(nil, "%0*d", random.IntN(12), random.IntN(n/3+1))
		body := binary.BigEndian.AppendUint32(nil, uint32(i))
		out[i] = Entry{
			Key: key, Head: bytes.Repeat([]byte("h"), random.IntN(200)),
			Body: append(body, make([]byte, random.IntN(200))...),
		}
	}
	return out
}

// fill adds entries to a sorter from buffers that are reused for each entry.
func fill(ctx context.Context, s *Sorter, entries []Entry) error {
	var key, head, body []byte
	for _, e := range entries {
		key, head, body = append(key[:0], e.Key...), append(head[:0], e.Head...), append(body[:0], e.Body...)
		if err := s.Add(ctx, &Entry{key, head, body}); err != nil {
			return err
		}
	}
	return s.Finish(ctx)
}

func drain(t *testing.T, s *Sorter) (out []Entry) {
	t.Helper()
	var e Entry
	for {
		ok, err := s.Next(&e)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return out
		}
		out = append(out, Entry{bytes.Clone(e.Key), bytes.Clone(e.Head), bytes.Clone(e.Body)})
	}
}

func same(a, b Entry) bool {
	return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Head, b.Head) && bytes.Equal(a.Body, b.Body)
}

// TestSorter compares sorts with a stable sort of the standard library: with and without a limit,
// in memory and on disk, with and without heads.
func TestSorter(t *testing.T) {
	t.Parallel()
	entries := randomEntries(5000)
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, func(a, b Entry) int { return bytes.Compare(a.Key, b.Key) })
	for _, memory := range []int{plenty, 200 << 10, 10 << 10} {
		for _, limit := range []int64{0, 1, 10, 1000, 5000, 6000, maxHeap} {
			for _, heads := range []bool{false, true} {
				want := slices.Clone(sorted)
				if limit > 0 {
					want = want[:min(int(limit), len(want))]
				}
				opts := Options{Limit: limit, Memory: memory, Disk: true, Dir: t.TempDir(), Heads: heads}
				s := New(opts)
				in := entries
				if !heads {
					in = withoutHeads(entries)
					want = withoutHeads(want)
				}
				if err := fill(t.Context(), s, in); err != nil {
					t.Fatal(err)
				}
				if got := drain(t, s); !slices.EqualFunc(got, want, same) {
					t.Errorf("memory %d, limit %d, heads %t: %d entries are not those wanted", memory, limit, heads, len(got))
				}
				checkClosed(t, s, opts)
			}
		}
	}
}

func withoutHeads(entries []Entry) []Entry {
	out := slices.Clone(entries)
	for i := range out {
		out[i].Head = nil
	}
	return out
}

func checkClosed(t *testing.T, s *Sorter, opts Options) {
	t.Helper()
	before := s.Spilled()
	s.Close()
	s.Close()
	if s.Spilled() != before {
		t.Errorf("after Close %+v were spilled, before %+v", s.Spilled(), before)
	}
	if ok, err := s.Next(&Entry{}); ok || err != nil {
		t.Errorf("a closed sorter has an entry, %v", err)
	}
	if left, _ := os.ReadDir(opts.Dir); len(left) > 0 {
		t.Errorf("%d files are left", len(left))
	}
}

func TestSpilled(t *testing.T) {
	t.Parallel()
	const entries, size = 100, 1000
	entry := Entry{Key: []byte("key"), Body: make([]byte, size)}
	s := New(Options{Memory: 10 * (len(entry.Key) + size + EntryBytes), Disk: true, Dir: t.TempDir()})
	defer s.Close()
	if err := fill(t.Context(), s, slices.Repeat([]Entry{entry}, entries)); err != nil {
		t.Fatal(err)
	}
	// Ten entries fill the memory, and the eleventh causes a run. The last entry also becomes a
	// run.
	if got := s.Spilled(); got.Runs != 10 || got.Entries != entries ||
		got.Bytes != entries*(3+int64(len(entry.Key))+size) {
		t.Errorf("spilled %+v", got)
	}
	if (*Sorter)(nil).Spilled() != (Spilled{}) {
		t.Error("no sorter has spilled")
	}
}

// TestMemoryLimit fills a sorter without a disk up to its limit, and with one byte more.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	const size = 1000
	entry := Entry{Key: []byte("key"), Body: make([]byte, size-3)}
	for less, want := range map[int]mongoerr.Code{0: 0, 1: mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed} {
		s := New(Options{Memory: 3*(size+EntryBytes) - less})
		if err := fill(t.Context(), s, slices.Repeat([]Entry{entry}, 3)); mongoerr.CodeOf(err) != want {
			t.Errorf("%d bytes too little: %v", less, err)
		}
		s.Close()
	}
}

// TestBudget sorts on a server with little memory, with and without the disk.
func TestBudget(t *testing.T) {
	t.Parallel()
	entries := slices.Repeat([]Entry{{Key: []byte("key"), Body: make([]byte, 100<<10)}}, 40)
	for disk, want := range map[bool]mongoerr.Code{false: mongoerr.ExceededMemoryLimit, true: 0} {
		budget := memory.New(2 << 20)
		s := New(Options{Memory: plenty, Budget: budget, Disk: disk, Dir: t.TempDir()})
		if err := fill(t.Context(), s, entries); mongoerr.CodeOf(err) != want {
			t.Errorf("disk %t: %v", disk, err)
		}
		if disk && len(drain(t, s)) != len(entries) {
			t.Error("entries are missing")
		}
		if s.Close(); budget.Stats().Used != 0 {
			t.Errorf("disk %t: %d bytes are counted after the end", disk, budget.Stats().Used)
		}
	}
}

// TestReserve reserves memory for large entries. Add must release the part that the entries do not
// need.
func TestReserve(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	budget := memory.New(10 * size)
	s := New(Options{Memory: plenty, Budget: budget, Disk: true, Dir: t.TempDir()})
	defer s.Close()
	large := Entry{Key: []byte("key"), Body: make([]byte, size)}
	for i, runs := range []int{0, 0, 0, 1} { // sorters with a disk use at most half of the budget
		if err := s.Reserve(t.Context(), 2*size); err != nil {
			t.Fatal(err)
		}
		if err := s.Add(t.Context(), &large); err != nil {
			t.Fatal(err)
		}
		if got := s.Spilled().Runs; got != runs {
			t.Errorf("%d runs after entry %d, want %d", got, i, runs)
		}
		if left := s.held.Held(); left > int64(s.buf.bytes) {
			t.Errorf("%d bytes are held for %d", left, s.buf.bytes)
		}
	}
}

func TestAccepts(t *testing.T) {
	t.Parallel()
	s := New(Options{Limit: 2, Memory: plenty})
	defer s.Close()
	for _, step := range []struct {
		key  string
		want bool
	}{
		{"d", true},
		{"b", true},
		{"d", false},
		{"e", false},
		{"c", true},
		{"c", false},
		{"b", true},
		{"b", false},
		{"a", true},
	} {
		if got := s.Accepts([]byte(step.key)); got != step.want {
			t.Errorf("%s is accepted: %t", step.key, got)
		}
		if err := s.Add(t.Context(), &Entry{Key: []byte(step.key)}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSortEnds ends an operation while it sorts, and while it writes a run.
func TestSortEnds(t *testing.T) {
	t.Parallel()
	entries := randomEntries(20_000)
	for _, memory := range []int{plenty, 1 << 20} {
		looks := interrupttest.New(t.Context())
		s := New(Options{Memory: memory, Disk: true, Dir: t.TempDir()})
		if err := fill(looks, s, entries); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if looks.Looks < 4 {
			t.Fatalf("memory %d: the sort looked at its operation %d times", memory, looks.Looks)
		}
		for n := range looks.Looks {
			s := New(Options{Memory: memory, Disk: true, Dir: t.TempDir()})
			if err := fill(interrupttest.EndAfter(t.Context(), n), s,
				entries); !errors.Is(err, interrupttest.ErrEnded) {
				t.Errorf("memory %d, after %d looks: %v", memory, n, err)
			}
			s.Close()
		}
	}
}

// TestReplacedMemory replaces a large entry by a small one, which must not keep the large memory.
func TestReplacedMemory(t *testing.T) {
	t.Parallel()
	s := New(Options{Limit: 1, Memory: plenty})
	defer s.Close()
	for _, e := range []Entry{
		{Key: []byte("b"), Body: make([]byte, 10<<20)},
		{Key: []byte("a"), Body: []byte("small")},
	} {
		if err := s.Add(t.Context(), &e); err != nil {
			t.Fatal(err)
		}
	}
	if s.buf.bytes > 1<<10 {
		t.Errorf("%d bytes for a small entry", s.buf.bytes)
	}
}
