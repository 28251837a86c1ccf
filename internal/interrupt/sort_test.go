package interrupt

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSortIsStable(t *testing.T) {
	t.Parallel()
	type pair struct{ key, at int }
	for _, n := range []int{0, 1, 2, run - 1, run, run + 1, 2*run + 1, 7*run + 3} {
		values := make([]pair, n)
		for i := range values {
			values[i] = pair{rand.IntN(n/3 + 1), i}
		}
		want := slices.Clone(values)
		byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
		slices.SortStableFunc(want, byKey)
		var m Meter
		if err := Sort(values, Step, byKey, &m, nil); err != nil || !slices.Equal(values, want) {
			t.Errorf("%d values: %v", n, err)
		}
	}
}

func TestSortUnstable(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, quick, quick + 1, 5 * quick} {
		values := make([]int, n)
		for i := range values {
			values[i] = rand.IntN(n/3 + 1)
		}
		want := slices.Sorted(slices.Values(values))
		var m Meter
		if err := SortUnstable(values, Step, cmp.Compare[int], &m, nil); err != nil || !slices.Equal(values, want) {
			t.Errorf("%d values: %v", n, err)
		}
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 100} {
		values := make([]int, n)
		for i := range values {
			values[i] = rand.IntN(3)
		}
		want := slices.Compact(slices.Clone(values))
		var m Meter
		same := func(a, b int) bool { return a == b }
		if got, err := Compact(values, Step, same, &m, nil); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v instead of %v, %v", got, want, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var r Running
	r.Set(ctx)
	var m Meter
	compared := 0
	_, err := Compact(make([]int, 1<<20), Step, func(int, int) bool { compared++; return true }, &m, &r)
	if !errors.Is(err, context.Canceled) || compared > Interval/Step {
		t.Errorf("%v after %d comparisons", err, compared)
	}
}

func TestSortStops(t *testing.T) {
	t.Parallel()
	for name, sort := range map[string]func([]int, int, func(a, b int) int, *Meter,
		*Running) error{"stable": Sort[int], "unstable": SortUnstable[int]} {
		t.Run(name, func(t *testing.T) { stopsSort(t, sort) })
	}
}

func stopsSort(t *testing.T, sort func([]int, int, func(a, b int) int, *Meter, *Running) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var r Running
	r.Set(ctx)
	values := make([]int, 1<<20)
	for i := range values {
		values[i] = rand.IntN(len(values))
	}
	compared := 0
	var m Meter
	err := sort(values, Step, func(a, b int) int {
		if compared++; compared == 1<<16 {
			cancel()
		}
		return cmp.Compare(a, b)
	}, &m, &r)
	if !errors.Is(err, context.Canceled) || compared > 1<<17 {
		t.Errorf("%v after %d comparisons", err, compared)
	}
}
