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

func TestSortStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var r Running
	r.Set(ctx)
	values := make([]int, 1<<20)
	for i := range values {
		values[i] = len(values) - i
	}
	compared := 0
	var m Meter
	err := Sort(values, Step, func(a, b int) int {
		if compared++; compared == 1<<16 {
			cancel()
		}
		return cmp.Compare(a, b)
	}, &m, &r)
	if !errors.Is(err, context.Canceled) || compared > 1<<17 {
		t.Errorf("%v after %d comparisons", err, compared)
	}
}
