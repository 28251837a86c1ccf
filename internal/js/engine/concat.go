package engine

import (
	_ "embed" // for the functions
	"errors"
	"reflect"
	"sync"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

//go:embed concat.js
var concatSource string

// concatName is the global function that adds two values within the limits. resultName is the
// global function that checks a sum. The names contain a space, so scripts cannot redefine the
// functions.
const (
	concatName = " concat"
	resultName = " result"
)

// shortText is the largest length of a literal that is added without a check. A text that grows by
// at most this length per step grows slowly enough for the guard's timer.
const shortText = 64

// compileChecked compiles a program. It replaces the operators that join texts by calls of checked
// functions: one instruction can double a text, so a check between two instructions would be too
// late.
func compileChecked(source string, strict bool) (*script, error) {
	tree, err := goja.Parse("", source)
	if err != nil {
		return nil, err
	}
	return compileTree(tree, strict)
}

func compileTree(tree *ast.Program, strict bool) (*script, error) {
	var found literals
	found.replaceConcats(reflect.ValueOf(tree.Body))
	if found.err != nil {
		return nil, found.err
	}
	program, err := goja.CompileAST(tree, strict)
	if err != nil {
		return nil, err
	}
	return &script{program, found.largest}, nil
}

// script is a compiled program and the size of its largest regular expression.
type script struct {
	program *goja.Program
	largest patternSize
}

// runScript runs a program and returns its value.
func (e *engine) runScript(s *script) (goja.Value, error) {
	e.regexps.compiled(s.largest)
	return e.rt.RunProgram(s.program)
}

// runSource runs a program in sloppy mode, and returns its value.
func (e *engine) runSource(source string) (goja.Value, error) {
	s, err := compileChecked(source, false)
	if err != nil {
		return nil, err
	}
	return e.runScript(s)
}

// replaceConcats replaces expressions in a syntax tree by checked calls, measures its regular
// expressions, and renames eval. The recursion is bounded, because the nesting of the tree is
// limited.
func (l *literals) replaceConcats(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		l.replaceConcats(v.Elem())
		if pattern, ok := v.Interface().(*ast.RegExpLiteral); ok {
			l.add(pattern)
		}
		if old, ok := v.Interface().(ast.Expression); ok && v.CanSet() {
			if e := reflect.ValueOf(replacement(old)); e.IsValid() && e.Type().AssignableTo(v.Type()) {
				v.Set(e)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			renameEval(v.Interface())
			l.replaceConcats(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			l.replaceConcats(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if isNode(v.Type().Field(i)) {
				l.replaceConcats(v.Field(i))
			}
		}
	default:
	}
}

// replacement returns the replacement of an expression, or nil if the expression stays.
func replacement(e ast.Expression) ast.Expression {
	switch e := e.(type) {
	case *ast.CallExpression:
		return directEval(e)
	case *ast.BinaryExpression:
		if e.Operator == token.PLUS && !isShort(e.Left) && !isShort(e.Right) {
			return callOf(concatName, e, e.Left, e.Right)
		}
	case *ast.AssignExpression:
		if e.Operator != token.PLUS || isShort(e.Right) {
			return nil
		}
		if name, ok := e.Left.(*ast.Identifier); ok {
			sum := callOf(concatName, e, &ast.Identifier{Name: name.Name, Idx: name.Idx}, e.Right)
			return &ast.AssignExpression{Operator: token.ASSIGN, Left: name, Right: sum}
		}
		return callOf(resultName, e, e)
	case *ast.TemplateLiteral:
		if e.Tag == nil && len(e.Expressions) > 1 {
			return splitTemplate(e)
		}
	}
	return nil
}

// isShort reports whether the value of an expression cannot be a long text.
func isShort(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.NumberLiteral, *ast.BooleanLiteral, *ast.NullLiteral, *ast.UnaryExpression:
		return true
	case *ast.StringLiteral:
		return len(e.Value) <= shortText
	case *ast.BinaryExpression:
		switch e.Operator {
		case token.PLUS, token.LOGICAL_AND, token.LOGICAL_OR, token.COALESCE:
			return false
		default:
			return true
		}
	default:
		return false
	}
}

// splitTemplate converts a template with several values into a sum of templates with one value
// each.
func splitTemplate(e *ast.TemplateLiteral) ast.Expression {
	var sum ast.Expression
	empty := &ast.TemplateElement{Idx: e.Elements[0].Idx, Valid: true}
	for i, value := range e.Expressions {
		part := &ast.TemplateLiteral{
			OpenQuote: e.OpenQuote, CloseQuote: e.CloseQuote, Expressions: []ast.Expression{value},
			Elements: []*ast.TemplateElement{e.Elements[i], empty},
		}
		if i == len(e.Expressions)-1 {
			part.Elements[1] = e.Elements[i+1]
		}
		if sum == nil {
			sum = part
		} else {
			sum = callOf(concatName, e, sum, part)
		}
	}
	return sum
}

func callOf(name string, at ast.Expression, args ...ast.Expression) ast.Expression {
	return &ast.CallExpression{
		Callee:          &ast.Identifier{Name: unistring.String(name), Idx: at.Idx0()},
		LeftParenthesis: at.Idx0(), ArgumentList: args, RightParenthesis: at.Idx1(),
	}
}

// concatProgram is compiled at the first use.
var concatProgram = sync.OnceValues(func() (*goja.Program, error) {
	return goja.Compile("concat.js", concatSource, true)
})

// setConcat defines the functions that checked sums call.
func (e *engine) setConcat() error {
	v, err := callProgram(e.rt, concatProgram, e.rt.ToValue(e.watch.room), e.rt.ToValue(e.limits.checkWide),
		e.rt.ToValue(maxChars), e.rt.ToValue(maxWideMade), e.rt.ToValue(large))
	if err != nil {
		return err
	}
	functions := v.ToObject(e.rt)
	e.checkChars = functions.Get("checkChars")
	return errors.Join(e.defineHidden(concatName, functions.Get("concat")),
		e.defineHidden(resultName, functions.Get("result")))
}
