package pipeline

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// copyBeforeRedact copies predicates of a $match that follows a $redact to before the $redact:
// those that hold of the whole document if they hold of what $redact leaves of it.
func copyBeforeRedact(steps []step) []step {
	for i := len(steps) - 1; i > 0; i-- {
		m, isMatch := steps[i].Stage.(*match)
		_, isRedact := steps[i-1].Stage.(*redact)
		if !isMatch || !isRedact {
			continue
		}
		kept := slices.DeleteFunc(m.predicates(), func(p predicate) bool { return !p.survivesRedact() })
		if len(kept) == 0 {
			continue
		}
		if copied, ok := m.of(kept); ok {
			steps = slices.Insert(slices.Clone(steps), i-1, copied)
		}
	}
	return steps
}

// survivesRedact reports whether the predicate holds of the whole document if it holds of what
// $redact leaves. $redact takes out documents, in arrays too, and changes no other value. So the
// predicate must look for a scalar, by names and not by a position in an array.
func (p predicate) survivesRedact() bool {
	if p.fixed || p.negates || p.misses || !p.compares || len(p.paths) == 0 {
		return false
	}
	return !slices.ContainsFunc(p.paths, func(path string) bool {
		return slices.ContainsFunc(strings.Split(path, ".")[1:], isPosition)
	})
}

// isPosition reports whether a name in a path may be a position in an array.
func isPosition(name string) bool {
	_, ok := bsonx.ArrayIndex(name)
	return ok
}
