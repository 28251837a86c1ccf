package engine

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/torture"
)

// TestSort sorts with each kind of comparator, including one that only returns whether an element
// belongs after another. Equal elements must keep their order.
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

// TestLongSort sorts long lists without a comparator, so that the sort checks for interrupts. The
// order is by the text of each element, with undefined last.
func TestLongSort(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	for name, element := range map[string]string{
		"numbers":   "(i * 7919) % 100003",
		"fractions": "((i * 7919) % 100003) / 8",
		"texts":     "'text ' + (i * 7919) % 100003",
		"wide":      "'wörd \\u{1F600} ' + (i * 7919) % 100003",
		"objects":   "({toString: () => (i * 7919) % 100003})",
		"mixed":     "[i % 3 == 0, null, 'x' + i, -i, [i], {}, undefined, NaN][i % 8]",
	} {
		for _, method := range []string{"sort", "toSorted"} {
			f := compile(t, fmt.Sprintf(`
				const list = Array.from({length: %d}, (_, i) => %s);
				const got = list.%s();
				for (let i = 1; i < got.length; i++) {
					const a = got[i-1], b = got[i];
					if (a === undefined ? b !== undefined : b !== undefined && String(a) > String(b)) return String(a) + ' before ' + String(b);
				}
				return got.length`, longSort+1, element, method))
			got, err := f.Call(bsonx.Document(bsonx.NewDoc()))
			if n, _ := got.AsFloat64(); err != nil || n != longSort+1 {
				t.Errorf("%s of %s: %v, %v", method, name, got, err)
			}
		}
	}
}
