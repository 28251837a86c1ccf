package js

import (
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
)

// withLastValue makes statements without a return give the value of the last one.
func withLastValue(code string) string {
	program, err := parser.ParseFile(nil, "", code, 0)
	if err != nil || len(program.Body) == 0 {
		return code // with a return it is the body of a function, and no program
	}
	ends := lastExpressions(nil, program.Body[len(program.Body)-1])
	slices.Sort(ends)
	for _, at := range slices.Backward(ends) {
		code = code[:at] + "return " + code[at:]
	}
	return code
}

// lastExpressions appends the offsets of the expressions whose value a statement may have.
func lastExpressions(dst []int, s ast.Statement) []int {
	switch s := s.(type) {
	case *ast.ExpressionStatement:
		return append(dst, int(s.Idx0())-1)
	case *ast.BlockStatement:
		if n := len(s.List); n > 0 {
			return lastExpressions(dst, s.List[n-1])
		}
	case *ast.IfStatement:
		dst = lastExpressions(dst, s.Consequent)
		if s.Alternate != nil {
			return lastExpressions(dst, s.Alternate)
		}
	case *ast.TryStatement:
		dst = lastExpressions(dst, s.Body)
		if s.Catch != nil {
			return lastExpressions(dst, s.Catch.Body)
		}
	default: // the others have no value here
	}
	return dst
}
