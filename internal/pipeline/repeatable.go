package pipeline

import (
	"bytes"
	"slices"
	"sync"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
)

// isRepeatable reports whether stages give the same results when they run again: they use no random
// values and no JavaScript.
func isRepeatable(stages bsonx.Value, operators *expr.Table) bool {
	return !namesAny(stages, operators.Unrepeatable()) && !namesAny(stages, unrepeatable())
}

// unrepeatable returns the names of the stages, accumulators and query operators that are not
// repeatable.
var unrepeatable = sync.OnceValue(func() []string {
	names := slices.Concat(accumulator.Unrepeatable(), filter.Unrepeatable())
	for name, def := range registry() {
		if def.Repeatable == feature.No {
			names = append(names, name)
		}
	}
	return names
})

// namesAny reports whether the BSON of stages contains one of the names, even within a string. So
// it may return true too often.
func namesAny(stages bsonx.Value, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return bytes.Contains(stages.Data, []byte(name)) })
}
