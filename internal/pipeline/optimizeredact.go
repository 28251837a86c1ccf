package pipeline

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// copyBeforeRedact copies predicates of a $match to a new $match before the preceding $redact. It
// copies only predicates that match the original document whenever they match the redacted one.
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

// survivesRedact reports whether the predicate matches the original document whenever it matches
// the redacted one. $redact removes documents, also in arrays, and changes no other value. So the
// predicate must look for a scalar, and its path must not contain an array index.
func (p predicate) survivesRedact() bool {
	if p.fixed || p.negates || p.misses || !p.compares || len(p.paths) == 0 {
		return false
	}
	return !slices.ContainsFunc(p.paths, func(path string) bool {
		return slices.ContainsFunc(strings.Split(path, ".")[1:], isPosition)
	})
}

// isPosition reports whether a component of a path may be an array index.
func isPosition(name string) bool {
	_, ok := bsonx.ArrayIndex(name)
	return ok
}
