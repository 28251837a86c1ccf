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
	// failure is the explanation of a validator that fails through the operator. It has no default.
	failure *failure
	// operand is the kind of the argument. It has no default.
	operand Operand
	// depends names the inputs of the result other than the values at the path and the argument. It
	// has no default.
	depends expr.Dependence
}

// Operand is the kind of an operator's argument: it says which operators the argument can contain.
type Operand byte

// Values of Operand.
const (
	_       Operand = iota
	Values          // no operators, or operators that only exist inside of the argument
	Filters         // an array of filters
	// Conditions are operators for the same value, or a regular expression. A document with such an
	// operator is not a condition where values and conditions are both allowed, as in $pull.
	Conditions
	ElementFilter // conditions for the elements of an array, or a filter of the elements
	Expression    // an aggregation expression
)

// failure describes how to explain that an operator did not match or, under a negation, that it
// matched.
type failure struct {
	// no is the reason for a mismatch, and yes the reason for an unwanted match.
	no, yes string
	// whole reports that an array is explained as one value and not by its elements.
	whole bool
	// expected lists the names of the types to which the operator applies. If it is empty, the
	// operator applies to all types.
	expected []string
	// showTypes adds the types of the considered values to the explanation.
	showTypes bool
	// exists marks $exists, whose explanation consists only of the reason.
	exists bool
}

// explainedElsewhere is the failure of the operators that have an explanation of their own, as
// $and and $expr have, and of those that no validator can have.
var explainedElsewhere = &failure{}

// registry contains the operators by name: those under a path and those in place of a path.
type registry struct {
	field, top map[string]*operator
}
