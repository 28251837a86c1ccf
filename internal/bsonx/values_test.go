package bsonx_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

func TestValuesOfManyFields(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 63, 64, 65, 256, 1000, 5000} {
		want := make([]bsonx.Value, n)
		for i := range want {
			want[i] = bsonx.String(strings.Repeat("x", i%17*(i%3)))
		}
		got := bsonx.ValueOf(want).Doc().Values()
		if !slices.EqualFunc(got, want, func(a, b bsonx.Value) bool { return bsonx.CompareValues(a, b) == 0 }) {
			t.Errorf("%d values: got %d", n, len(got))
		}
		if cap(got) > 4*n+4 {
			t.Errorf("%d values: room for %d", n, cap(got))
		}
	}
}
