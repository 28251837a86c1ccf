package js

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// TestSort sorts with each kind of comparator, also with one that only returns whether an element
// belongs after another. Equal elements keep their order.
func TestSort(t *testing.T) {
	t.Parallel()
	type element struct{ key, at int }
	ascending := func(a, b element) int { return cmp.Compare(a.key, b.key) }
	descending := func(a, b element) int { return cmp.Compare(b.key, a.key) }
	none := func(element, element) int { return 0 }
	for comparator, want := range map[string]func(a, b element) int{
		"(a, b) => a[0] - b[0]":                            ascending,
		"(a, b) => b[0] - a[0]":                            descending,
		"(a, b) => a[0] > b[0]":                            ascending,
		"(a, b) => a[0] < b[0]":                            descending,
		"(a, b) => a[0] > b[0] ? 1 : a[0] < b[0] ? -1 : 0": ascending,
		"(a, b) => a[0] > b[0] ? 1 : -0":                   ascending,
		"(a, b) => '' + (a[0] - b[0])":                     ascending,
		"(a, b) => 0":                                      none,
		"(a, b) => false":                                  none,
		"(a, b) => NaN":                                    none,
		"(a, b) => undefined":                              none,
	} {
		for _, method := range []string{"sort", "toSorted"} {
			sort := compile(t, fmt.Sprintf("return this.list.%s(%s).map(x => x[0] + ':' + x[1]).join(' ')", method, comparator))
			for _, n := range []int{0, 1, 2, 3, 7, 12, 13, 40, 300} {
				elements, list := make([]element, n), make([]bsonx.Value, n)
				for i := range elements {
					elements[i] = element{rand.IntN(n), i}
					list[i] = bsonx.NewArray(elements[i].key, i)
				}
				slices.SortStableFunc(elements, want)
				texts := make([]string, n)
				for i, e := range elements {
					texts[i] = fmt.Sprintf("%d:%d", e.key, e.at)
				}
				got, err := sort.Call(bsonx.Document(bsonx.NewDoc("list", list)))
				if err != nil || got.Str() != strings.Join(texts, " ") {
					t.Fatalf("%s %s: %v\n%s\n%s", method, comparator, err, got.Str(), strings.Join(texts, " "))
				}
			}
		}
	}
}
