package filter

import "github.com/sheafdb/sheaf/internal/expr"

// operator is an entry of the table. An operator without a parser is known but not supported.
type operator struct {
	name       string
	family     string // the group that the manual puts it into
	note       string
	parseField fieldParser // under a path
	parseTop   topParser   // in place of a path
	nearby     bool        // sorts by distance, which not every context allows
	// depends says what decides the result apart from the values of the path, and of the argument.
	// It has no default.
	depends expr.Dependence
}

// registry finds the definition of an operator, under a path or in place of a path.
type registry struct {
	field, top map[string]*operator
}
