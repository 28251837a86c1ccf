package expressions

import (
	"sync"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expr/arithmetic"
	"github.com/sheafdb/sheaf/internal/expr/array"
	"github.com/sheafdb/sheaf/internal/expr/convert"
	"github.com/sheafdb/sheaf/internal/expr/date"
	"github.com/sheafdb/sheaf/internal/expr/object"
	"github.com/sheafdb/sheaf/internal/expr/set"
	"github.com/sheafdb/sheaf/internal/expr/str"
)

// families returns the definitions of all operators.
func families() [][]expr.Definition {
	return [][]expr.Definition{
		expr.Operators(), arithmetic.Operators(), array.Operators(), convert.Operators(), date.Operators(),
		object.Operators(), set.Operators(), str.Operators(), accumulator.Operators(),
	}
}

// Table returns the table of all operators of MongoDB 8.0.
var Table = sync.OnceValue(func() *expr.Table { return expr.NewTable(families()...) })

// Scope returns the scope of the system variables and all operators.
func Scope() *expr.Vars { return Table().Scope() }
