package pipeline

import (
	"fmt"
	"os"
	"slices"
	"testing"
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
