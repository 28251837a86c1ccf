package filter

import "github.com/sheafdb/sheaf/internal/expr"

// operator is an entry in the table of operators. An operator without a parser is known but not
// supported.
type operator struct {
	name       string
	family     string // the operator's group in MongoDB's manual
	note       string
	parseField fieldParser // parses the operator under a path
	parseTop   topParser   // parses the operator in place of a path
	nearby     bool        // sorts by distance, which is not allowed everywhere
	// wraps is true for an operator under a path whose argument contains other operators. Such a
	// document is not a condition where values and conditions are both allowed, as in $pull.
	wraps bool
	// depends names the inputs of the result other than the values at the path and the argument. It
	// has no default.
	depends expr.Dependence
}

// registry contains the operators by name: those under a path and those in place of a path.
type registry struct {
	field, top map[string]*operator
}
