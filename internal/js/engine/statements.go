package engine

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
)

// withLastValue makes statements without a return yield their completion value (ECMAScript, section
// 14): the value of the last expression statement. It assigns each expression statement to a
// variable, and appends an expression that reads the variable.
func withLastValue(code string) string {
	program, err := parser.ParseFile(nil, "", code, 0)
	if err != nil || len(program.Body) == 0 {
		return code // code with a return statement is a function body and not a program
	}
	c := completion{code: code, name: "$value"}
	for strings.Contains(code, c.name) {
		c.name += "_"
	}
	c.list(withoutDirective(program.Body))
	if len(c.insertions) == 0 {
		return code
	}
	slices.SortStableFunc(c.insertions, func(a, b insertion) int { return a.at - b.at })
	for _, i := range slices.Backward(c.insertions) {
		code = code[:i.at] + i.text + code[i.at:]
	}
	return code + "\n;return " + c.name + "; var " + c.name
}

// withoutDirective drops a first statement such as "use strict", because an assignment would turn
// it into an ordinary expression.
func withoutDirective(statements []ast.Statement) []ast.Statement {
	first, ok := statements[0].(*ast.ExpressionStatement)
	if !ok || len(statements) == 1 {
		return statements
	}
	if _, ok = first.Expression.(*ast.StringLiteral); ok {
		return statements[1:]
	}
	return statements
}

// completion collects the texts to insert into code.
type completion struct {
	code, name string
	insertions []insertion
}

type insertion struct {
	at   int
	text string
}

// list processes statements one after another. Before a conditional statement it clears the
// variable, because the statement has no value if it runs no branch.
func (c *completion) list(statements []ast.Statement) {
	for _, s := range statements {
		switch s := s.(type) {
		case *ast.IfStatement: // the syntax tree does not contain the position of the keyword
			c.insert(strings.LastIndex(c.code[:max(0, int(s.Test.Idx0())-1)], "if"), c.name+" = void 0; ")
		case *ast.ForStatement, *ast.ForInStatement, *ast.ForOfStatement, *ast.WhileStatement, *ast.SwitchStatement:
			c.insert(int(s.Idx0())-1, c.name+" = void 0; ")
		}
		c.statement(s)
	}
}

func (c *completion) statement(s ast.Statement) {
	switch s := s.(type) {
	case *ast.ExpressionStatement:
		c.expression(s.Expression)
	case *ast.BlockStatement:
		c.list(s.List)
	case *ast.IfStatement:
		c.statement(s.Consequent)
		c.statement(s.Alternate)
	case *ast.TryStatement:
		c.list(s.Body.List)
		if s.Catch != nil {
			c.list(s.Catch.Body.List)
		}
	case *ast.ForStatement:
		c.statement(s.Body)
	case *ast.ForInStatement:
		c.statement(s.Body)
	case *ast.ForOfStatement:
		c.statement(s.Body)
	case *ast.WhileStatement:
		c.statement(s.Body)
	case *ast.DoWhileStatement:
		c.statement(s.Body)
	case *ast.SwitchStatement:
		for _, branch := range s.Body {
			c.list(branch.Consequent)
		}
	case *ast.LabelledStatement:
		c.statement(s.Statement)
	case *ast.WithStatement:
		c.statement(s.Body)
	default: // declarations and jumps have no value
	}
}

// expression inserts an assignment before an expression, or before the last of several expressions
// separated by commas. The syntax tree does not contain parentheses, so they are searched in the
// text.
func (c *completion) expression(e ast.Expression) {
	if several, ok := e.(*ast.SequenceExpression); ok {
		e = several.Sequence[len(several.Sequence)-1]
	}
	at := int(e.Idx0()) - 1
	for i := at; i > 0 && strings.ContainsRune(" \t\r\n(", rune(c.code[i-1])); i-- {
		if c.code[i-1] == '(' {
			at = i - 1
		}
	}
	c.insert(at, c.name+" = ")
}

// insert records a text to insert at a position, if the position is known.
func (c *completion) insert(at int, text string) {
	if at >= 0 {
		c.insertions = append(c.insertions, insertion{at, text})
	}
}
