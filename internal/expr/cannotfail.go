package expr

// CannotFail reports whether an expression is known to have a value for every document. Such an
// expression may be evaluated for fewer documents than exist, or for none. CannotFail ignores
// errors because a result is too large or the operation is interrupted. It returns false for a
// Func, because its behaviour is unknown.
func CannotFail(e Expr) bool {
	total := true
	Walk(e, func(e Expr) bool {
		t, ok := e.(totalNode)
		total = total && ok && t.Total()
		return total
	})
	return total
}

// totalNode is a node that knows whether it has a value for all values of its operands. The node
// knows more than the definition of its operator: for example, a $switch has one only with a
// default.
type totalNode interface {
	Expr
	// Total reports whether the node has a value for all values of its operands.
	Total() bool
}
