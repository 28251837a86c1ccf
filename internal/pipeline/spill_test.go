package pipeline

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func TestSpillMerges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := (&Env{AllowDiskUse: true, TempDir: dir}).newSpill()
	var want []string
	for run := range 20 {
		for i := range 50 {
			key := fmt.Sprintf("k%04d", i*(run%3+1))
			payload := fmt.Sprintf("%02d.%02d %0*d", run, i, i*run, 0)
			s.add([]byte(key), []byte(payload))
			want = append(want, key+" "+payload)
		}
		if err := s.endRun(); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(want)
	m, err := s.merge()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for m.next() {
		got = append(got, string(m.key)+" "+string(m.payload))
	}
	if m.err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: %d entries of %d", m.err, len(got), len(want))
	}
	s.close()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v left behind, %v", left, err)
	}
}

func TestSpillUnused(t *testing.T) {
	t.Parallel()
	var env *Env
	env.newSpill().close()
	s := (&Env{AllowDiskUse: true, TempDir: t.TempDir()}).newSpill()
	m, err := s.merge()
	if err != nil || m.next() || s.used() {
		t.Error("an unused spill has entries")
	}
	s.close()
}

func TestSpillFails(t *testing.T) {
	t.Parallel()
	s := (&Env{AllowDiskUse: true, TempDir: os.DevNull + "/absent"}).newSpill()
	s.add([]byte("k"), []byte("v"))
	if err := s.endRun(); err == nil {
		t.Error("no error without a directory")
	}
	s.close()
}

// TestSpillMemory merges many runs of large entries. One payload at a time is in memory, and it is
// counted.
func TestSpillMemory(t *testing.T) {
	t.Parallel()
	const runs, large = 24, 1 << 20
	for _, c := range []struct {
		key, payload int
		limit, peak  int64
		want         mongoerr.Code
	}{
		{key: 8, payload: large, limit: 16 * large, peak: 3 * large},
		{key: 8, payload: large, limit: large, want: mongoerr.ExceededMemoryLimit},
		{key: large, payload: 8, limit: 64 * large, peak: (runs + 2) * large},
		{key: large, payload: 8, limit: runs / 2 * large, want: mongoerr.ExceededMemoryLimit},
	} {
		budget := memory.New(c.limit)
		s := (&Env{AllowDiskUse: true, TempDir: t.TempDir(), Memory: budget}).newSpill()
		for i := range runs {
			s.add(bytes.Repeat([]byte{byte(i)}, c.key), bytes.Repeat([]byte{byte(i)}, c.payload))
			if err := s.endRun(); err != nil {
				t.Fatal(err)
			}
		}
		m, err := s.merge()
		n := 0
		for err == nil && m.next() {
			if len(m.key) != c.key || len(m.payload) != c.payload || m.key[0] != byte(n) || m.payload[c.payload-1] != byte(n) {
				t.Errorf("entry %d is wrong", n)
			}
			n++
		}
		if err == nil {
			err = m.err
		}
		if mongoerr.CodeOf(err) != c.want || err == nil && n != runs {
			t.Errorf("keys of %d: %d entries, %v", c.key, n, err)
		}
		if peak := budget.Stats().Peak; c.peak > 0 && (peak > c.peak || peak < large) {
			t.Errorf("keys of %d: %d bytes were counted, want at most %d", c.key, peak, c.peak)
		}
		if s.close(); budget.Stats().Used != 0 {
			t.Errorf("%d bytes are counted after the end", budget.Stats().Used)
		}
	}
}
