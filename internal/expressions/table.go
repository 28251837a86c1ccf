package expressions

import (
	"sync"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/expr"
)

// Table returns the table of all operators of MongoDB 8.0.
var Table = sync.OnceValue(func() *expr.Table {
	return expr.NewTable(
		expr.ComparisonOperators(), expr.ArrayOperators(), expr.SetOperators(), accumulator.AccumulatorOperators(),
		expr.BooleanOperators(), expr.ConditionalOperators(), expr.LiteralOperators(),
		expr.ScopeOperators(), expr.ObjectOperators(), expr.TypeOperators(), expr.ArithmeticOperators(),
		expr.TrigOperators(), expr.ConversionOperators(), expr.DateOperators(), expr.StringOperators(), expr.TrimOperators(), expr.MiscOperators(),
		expr.SortArrayOperators(), accumulator.FirstNOperators(), expr.ZipOperators(), expr.RegexOperators(), expr.HashOperators(), accumulator.PercentileOperators(),
		expr.FunctionOperators(),
	)
})

// Scope returns the scope of the system variables and all operators.
func Scope() *expr.Vars { return Table().Scope() }
