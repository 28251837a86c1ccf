package spill

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := New(dir, memory.Holding{})
	var want []string
	for run := range 20 {
		for i := range 50 {
			key := fmt.Sprintf("k%04d", i*(run%3+1))
			payload := fmt.Sprintf("%02d.%02d %0*d", run, i, i*run, 0)
			s.Add([]byte(key), []byte(payload))
			want = append(want, key+" "+payload)
		}
		if err := s.EndRun(); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(want)
	m, err := s.Merge()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for m.Next() {
		got = append(got, string(m.Key())+" "+string(m.Payload()))
	}
	if m.Err() != nil || !slices.Equal(got, want) {
		t.Errorf("%v: %d entries of %d", m.Err(), len(got), len(want))
	}
	s.Close()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v left behind, %v", left, err)
	}
}

func TestUnused(t *testing.T) {
	t.Parallel()
	(*Runs)(nil).Close()
	s := New(t.TempDir(), memory.Holding{})
	m, err := s.Merge()
	if err != nil || m.Next() || s.Used() {
		t.Error("an unused spill has entries")
	}
	s.Close()
}

func TestFails(t *testing.T) {
	t.Parallel()
	s := New(os.DevNull+"/absent", memory.Holding{})
	s.Add([]byte("k"), []byte("v"))
	if err := s.EndRun(); err == nil {
		t.Error("no error without a directory")
	}
	s.Close()
}

// TestLongKeys merges keys that differ only after the part that is kept in memory.
func TestLongKeys(t *testing.T) {
	t.Parallel()
	s := New(t.TempDir(), memory.Holding{})
	long := func(n int, end string) string { return strings.Repeat("k", n) + end }
	runs := [][]string{
		{long(keyHead, ""), long(3*readBuffer, "b"), long(3*readBuffer, "d")},
		{"k", long(keyHead, "a"), long(3*readBuffer, "a"), long(3*readBuffer, "d")},
		{long(keyHead-1, ""), long(keyHead, ""), long(3*readBuffer, ""), long(3*readBuffer, "c")},
		{long(keyHead-1, "a"), "l"},
	}
	var want []string
	for n, keys := range runs {
		slices.Sort(keys)
		for _, key := range keys {
			s.Add([]byte(key), []byte{byte('0' + n)})
			want = append(want, key+string(byte('0'+n)))
		}
		if err := s.EndRun(); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(want, func(a, b string) int {
		n, m := len(a)-1, len(b)-1
		return cmp.Or(cmp.Compare(a[:n], b[:m]), cmp.Compare(a[n:], b[m:]))
	})
	m, err := s.Merge()
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for ; m.Next(); i++ {
		if got := string(m.Key()) + string(m.Payload()); i >= len(want) || got != want[i] {
			t.Errorf("entry %d: %d bytes that end in %q", i, len(got), got[max(0, len(got)-2):])
		}
	}
	if m.Err() != nil || i != len(want) {
		t.Errorf("%d entries of %d: %v", i, len(want), m.Err())
	}
	s.Close()
}

// TestMemory merges many runs of large entries. Only one key and one payload at a time may be in
// memory, and both must be accounted for.
func TestMemory(t *testing.T) {
	t.Parallel()
	const runs, large = 24, 1 << 20
	for _, c := range []struct {
		key, payload int
		limit, peak  int64
		want         mongoerr.Code
	}{
		{key: 8, payload: large, limit: 16 * large, peak: 3 * large},
		{key: 8, payload: large, limit: large, want: mongoerr.ExceededMemoryLimit},
		{key: large, payload: 8, limit: 64 * large, peak: 3 * large},
		{key: large, payload: 8, limit: large, want: mongoerr.ExceededMemoryLimit},
	} {
		budget := memory.New(c.limit)
		s := New(t.TempDir(), budget.Hold())
		for i := range runs {
			s.Add(bytes.Repeat([]byte{byte(i)}, c.key), bytes.Repeat([]byte{byte(i)}, c.payload))
			if err := s.EndRun(); err != nil {
				t.Fatal(err)
			}
		}
		m, err := s.Merge()
		n := 0
		for err == nil && m.Next() {
			if len(m.Key()) != c.key || len(m.Payload()) != c.payload || m.Key()[0] != byte(n) ||
				m.Payload()[c.payload-1] != byte(n) {
				t.Errorf("entry %d is wrong", n)
			}
			n++
		}
		if err == nil {
			err = m.Err()
		}
		if mongoerr.CodeOf(err) != c.want || err == nil && n != runs {
			t.Errorf("keys of %d: %d entries, %v", c.key, n, err)
		}
		if peak := budget.Stats().Peak; c.peak > 0 && (peak > c.peak || peak < large) {
			t.Errorf("keys of %d: %d bytes were counted, want at most %d", c.key, peak, c.peak)
		}
		if s.Close(); budget.Stats().Used != 0 {
			t.Errorf("%d bytes are counted after the end", budget.Stats().Used)
		}
	}
}
