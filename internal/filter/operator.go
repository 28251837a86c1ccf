package filter

import "github.com/sheafdb/sheaf/internal/expr"

// Family is the group that the manual puts an operator into.
type Family string

// The families.
const (
	Comparison Family = "comparison"
	Logical    Family = "logical"
	Element    Family = "element"
	Evaluation Family = "evaluation"
	Array      Family = "array"
	Bitwise    Family = "bitwise"
	Geospatial Family = "geospatial"
	Misc       Family = "miscellaneous"
)

// OperatorInfo describes an operator of the filter language.
type OperatorInfo struct {
	Name   string
	Family Family
	Status expr.Status
	// Note says what a user should know beyond the manual; it may be empty.
	Note string
}

// operator is an entry of the table. An operator without a parser is known but not supported.
type operator struct {
	name       string
	family     Family
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
