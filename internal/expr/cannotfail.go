package expr

import "github.com/sheafdb/sheaf/internal/bsonx"

// CannotFail reports whether an expression has a value for every document, so that it may be evaluated for fewer documents than
// are there, or for none. It says so of few operators only; of all others, and of code that a caller brings along, it is not known.
// That a result is too large, or that the operation is killed, does not count.
func CannotFail(e Expr) bool {
	total := true
	Walk(e, func(e Expr) bool {
		total = total && isTotal(e)
		return total
	})
	return total
}

// isTotal is CannotFail apart from the expressions below e.
func isTotal(e Expr) bool {
	switch e := e.(type) {
	case *Const, *Path, *objectExpr, *arrayExpr, *Comparison, *And, *Or, *ifNull, *letExpr:
		return true
	case *switchExpr:
		return e.otherwise != nil
	case *bucket:
		return e.otherwise != nil
	case *call1:
		return e.total
	case *call2:
		return e.total
	default:
		return false
	}
}

// Total marks an operator of one or two operands whose function returns no error.
func Total(def Definition) Definition {
	parse := def.Parse
	def.Parse = func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
		e, err := parse(p, def, arg, vars)
		switch e := e.(type) {
		case *call1:
			e.total = true
		case *call2:
			e.total = true
		default:
		}
		return e, err
	}
	return def
}
