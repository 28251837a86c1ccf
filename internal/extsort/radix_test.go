package extsort

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/interrupt"
)

// refsOf returns entries with these keys, in this order.
func refsOf(keys [][]byte) []ref {
	refs := make([]ref, len(keys))
	for i, key := range keys {
		refs[i] = ref{keyHead(key), &entry{seq: uint64(i), data: key, keyLen: len(key)}}
	}
	return refs
}

func TestSortRefs(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	letters := func(n, of int) []byte {
		b := make([]byte, random.IntN(n+1))
		for i := range b {
			b[i] = byte(random.IntN(of))
		}
		return b
	}
	for name, key := range map[string]func() []byte{
		"numbers": func() []byte {
			return []byte{30, byte(random.IntN(256)), byte(random.IntN(256)), byte(random.IntN(3))}
		},
		"short":    func() []byte { return letters(3, 4) },
		"zeros":    func() []byte { return letters(30, 2) },
		"prefix":   func() []byte { return append([]byte("a long prefix that all keys share "), letters(20, 3)...) },
		"prefixes": func() []byte { return append([]byte(strings.Repeat("p", random.IntN(40))), letters(3, 256)...) },
		"long":     func() []byte { return append(bytes.Repeat([]byte("p"), 2*maxRadix), letters(3, 3)...) },
		"equal":    func() []byte { return []byte("all of them are one key") },
	} {
		for _, n := range []int{0, 1, radixMin - 1, radixMin, 3000} {
			keys := make([][]byte, n)
			for i := range keys {
				keys[i] = key()
			}
			refs := refsOf(keys)
			var m interrupt.Meter
			if err := sortRefs(refs, &m, nil); err != nil {
				t.Fatal(err)
			}
			if !slices.IsSortedFunc(refs, func(a, b ref) int {
				if c := bytes.Compare(a.entry.key(), b.entry.key()); c != 0 {
					return c
				}
				return int(a.entry.seq) - int(b.entry.seq)
			}) {
				t.Errorf("%s: %d entries are not in order", name, n)
			}
			seen := map[uint64]bool{}
			for _, r := range refs {
				seen[r.entry.seq] = true
			}
			if len(seen) != n {
				t.Errorf("%s: %d of %d entries are left", name, len(seen), n)
			}
		}
	}
}

// BenchmarkSortRefs sorts 100,000 entries with the radix sort and with comparisons.
func BenchmarkSortRefs(b *testing.B) {
	random := rand.New(rand.NewPCG(9, 10))
	for name, key := range map[string]func() []byte{
		"numbers": func() []byte {
			return []byte{30, byte(random.IntN(2)), byte(random.IntN(256)), byte(random.IntN(256)), 4}
		},
		"texts": func() []byte { return fmt.Appendf(nil, "<user%08d", random.IntN(1_000_000)) },
	} {
		keys := make([][]byte, 100_000)
		for i := range keys {
			keys[i] = key()
		}
		var m interrupt.Meter
		for how, sort := range map[string]func([]ref){
			"radix":       func(refs []ref) { _ = sortRefs(refs, &m, nil) }, // without an operation
			"comparisons": func(refs []ref) { slices.SortFunc(refs, compareRefs) },
		} {
			b.Run(name+"/"+how, func(b *testing.B) {
				refs, work := refsOf(keys), make([]ref, len(keys))
				for b.Loop() {
					copy(work, refs)
					sort(work)
				}
			})
		}
	}
}
