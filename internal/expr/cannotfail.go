package expr

// CannotFail reports whether an expression has a value for every document, so that it may be
// evaluated for fewer documents than are there, or for none. It says so of few operators only; of
// all others, and of code that a caller brings along, it is not known. That a result is too large,
// or that the operation is killed, does not count.
func CannotFail(e Expr) bool {
	total := true
	Walk(e, func(e Expr) bool {
		t, ok := e.(totalNode)
		total = total && ok && t.Total()
		return total
	})
	return total
}

// totalNode is a node that may have a value for all values of its operands. It knows more than its
// definition: a $switch with a default has one.
type totalNode interface {
	Expr
	// Total reports whether the node has a value whatever the expressions below it give.
	Total() bool
}
