package scenarios

import (
	"math/rand/v2"
	"testing"

	"github.com/sheafdb/sheaf/sim/scenario"
)

// TestCounted checks when counted returns a violation.
func TestCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		found, counted int64
		tally          scenario.Tally
		ok             bool
	}{
		{10, 10, scenario.Tally{}, true},
		{9, 10, scenario.Tally{}, false},
		{11, 10, scenario.Tally{}, false},
		{13, 10, scenario.Tally{Failed: 1, Cut: 2}, true},
		{14, 10, scenario.Tally{Failed: 1, Cut: 2}, false},
		{9, 10, scenario.Tally{Cut: 2}, false},
	} {
		if out := counted("rule", "coll", c.found, c.counted, unsure(c.tally, 1)); (len(out) == 0) != c.ok {
			t.Errorf("%+v: %v", c, out)
		}
	}
}

// TestSet adds numbers to a set.
func TestSet(t *testing.T) {
	t.Parallel()
	var s set
	for _, n := range []int64{0, 7, 8, 1000} {
		if s.has(n) || !s.add(n) || s.add(n) || !s.has(n) {
			t.Errorf("%d", n)
		}
	}
	if s.has(1) || s.has(999) || s.has(1_000_000) {
		t.Error("a number that was not added is there")
	}
}

// TestPopular: if n is small, every number occurs, and none more often than 0.
func TestPopular(t *testing.T) {
	t.Parallel()
	r, picked := rand.New(rand.NewPCG(1, 2)), make([]int, 5)
	for range 10_000 {
		picked[popular(r, len(picked))]++
	}
	for i, n := range picked {
		if n == 0 || n > picked[0] {
			t.Errorf("%d was picked %d times; %v", i, n, picked)
		}
	}
	if popular(r, 1) != 0 {
		t.Error("one of one is the first")
	}
}

// TestCategoryNumbers checks the numbers of the categories of a tree.
func TestCategoryNumbers(t *testing.T) {
	t.Parallel()
	s := &categories{depth: 3, width: 3, size: 39}
	if n := s.upTo(3); n != s.size {
		t.Errorf("%d categories", n)
	}
	for n, want := range map[int]string{
		1: "/c-1/", 3: "/c-3/", 4: "/c-1/c-1-1/",
		12: "/c-3/c-3-3/", 39: "/c-3/c-3-3/c-3-3-3/",
	} {
		if got := s.path(n); got != want {
			t.Errorf("%d: %s, not %s", n, got, want)
		}
	}
	if n := s.below(1, func(int) int { return 1 }); n != 13 || len(s.children(4)) != 3 || len(s.children(39)) != 0 {
		t.Errorf("%d below the first", n)
	}
}
