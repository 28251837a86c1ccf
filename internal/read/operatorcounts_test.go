package read

import (
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// total returns the sum of all counters.
func (c *OperatorCounts) total() (sum int64) {
	for _, kind := range []nameCounts{c.expressions, c.groups, c.windows, c.match, c.stages} {
		for _, n := range kind {
			sum += n.Load()
		}
	}
	return sum
}

// TestEachOperatorIsCounted uses each operator and stage that serverStatus lists, at a place where
// it is allowed. Only its own counter, and the counter of the enclosing stage, may rise.
func TestEachOperatorIsCounted(t *testing.T) {
	t.Parallel()
	var c OperatorCounts
	c.init()
	counted := func(kind string, counts nameCounts, around int64, use func(name string)) {
		t.Helper()
		if len(counts) == 0 {
			t.Errorf("%s: there is nothing to count", kind)
		}
		for name, n := range counts {
			before, all := n.Load(), c.total()
			use(name)
			if own := n.Load() - before; own != 1 {
				t.Errorf("%s %s: counted %d times", kind, name, own)
			}
			if got := c.total() - all; got != 1+around {
				t.Errorf("%s %s: %d counters rose, want %d", kind, name, got, 1+around)
			}
		}
	}
	pipeline := func(stage string, arg any) {
		c.Pipeline(bsonx.NewArray(bsonx.NewDoc(stage, arg)))
	}
	doc := bsonx.NewDoc
	counted("expression", c.expressions, 1, func(name string) {
		pipeline("$project", doc("x", doc(name, doc("input", "$a"))))
	})
	counted("accumulator", c.groups, 1, func(name string) {
		pipeline("$group", doc("_id", nil, "x", doc(name, "$a")))
	})
	counted("window function", c.windows, 1, func(name string) {
		pipeline("$setWindowFields", doc("output", doc("x", doc(name, "$a"))))
	})
	counted("predicate", c.match, 1, func(name string) {
		pipeline("$match", doc("a", doc(name, bsonx.NewArray())))
	})
	sums := []string{"$count", "$sortByCount"} // these stages use $sum, which is counted too
	counted("stage", without(c.stages, sums), 0, func(name string) { pipeline(name, doc()) })
	counted("stage", only(c.stages, sums), 1, func(name string) { pipeline(name, doc()) })
}

// only returns the counters with these names.
func only(c nameCounts, names []string) nameCounts {
	out := maps.Clone(c)
	maps.DeleteFunc(out, func(name string, _ *atomic.Int64) bool { return !slices.Contains(names, name) })
	return out
}

func without(c nameCounts, names []string) nameCounts {
	out := maps.Clone(c)
	maps.DeleteFunc(out, func(name string, _ *atomic.Int64) bool { return slices.Contains(names, name) })
	return out
}
