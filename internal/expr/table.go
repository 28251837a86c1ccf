package expr

import "sync"

// Expressions returns the table of all operators of MongoDB 8.0.
var Expressions = sync.OnceValue(func() *Table {
	return NewTable(
		comparisonOperators(), arrayOperators(), setOperators(), accumulatorOperators(),
		booleanOperators(), conditionalOperators(), literalOperators(),
		scopeOperators(), objectOperators(), typeOperators(), arithmeticOperators(),
		trigOperators(), conversionOperators(), dateOperators(), stringOperators(), trimOperators(), miscOperators(),
		sortArrayOperators(), firstNOperators(), zipOperators(), regexOperators(), hashOperators(), percentileOperators(),
		functionOperators(),
	)
})

// Scope returns the scope of the system variables and all operators.
func Scope() *Vars { return Expressions().Scope() }
