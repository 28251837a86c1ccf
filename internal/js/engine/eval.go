package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/unistring"
)

// A direct eval sees the variables of its caller. The engine's own eval compiles a text without
// checked sums, so scripts must not reach it. evalName is the new name of eval in scripts.
//
// A direct call `eval(text)` becomes ` run(eval( code( eval, text)))`. The function code parses the
// text and returns another source text, which the engine's own eval runs: functions that read and
// set the variables that the text names. The function run compiles the text itself with its checks.
// It runs the text in a with-statement whose object has these variables.
const (
	evalName  = " eval"
	codeName  = " code"
	runName   = " run"
	scopeName = " scope"
	thisName  = " this"
	// maxNames is the largest number of different names in the text of a direct eval. Each name
	// needs two functions.
	maxNames = 10_000
)

// renameEval renames eval in a script.
func renameEval(node any) {
	switch n := node.(type) {
	case *ast.Identifier:
		if n.Name == "eval" {
			n.Name = evalName
		}
	case *ast.PropertyShort:
		if n.Name.Name == "eval" {
			n.Name.Name = evalName
		}
	}
}

// directEval returns the replacement of a direct call of eval, or nil for another call.
func directEval(e *ast.CallExpression) ast.Expression {
	callee, ok := e.Callee.(*ast.Identifier)
	if !ok || callee.Name != evalName {
		return nil
	}
	code := callOf(codeName, e, append([]ast.Expression{callee}, e.ArgumentList...)...)
	return callOf(runName, e, callOf("eval", e, code))
}

// variablesSource returns source code that describes the scope of a text: the text, whether the
// scope is strict, the value of `this`, and a getter and a setter for each name in the text.
func variablesSource(text string) (string, error) {
	program, err := parseEval(text)
	if err != nil {
		return "", err
	}
	names, err := namesOf(program)
	if err != nil {
		return "", err
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return "", err
	}
	value := "$v"
	for slices.Contains(names, value) {
		value += "_"
	}
	var b strings.Builder
	if declared := declaredNames(program); len(declared) > 0 {
		fmt.Fprintf(&b, "var %s; ", strings.Join(declared, ", "))
	}
	fmt.Fprintf(&b, "[%s, (function() { return this === undefined })(), () => this, [", quoted)
	for _, name := range names {
		set := fmt.Sprintf("(%s) => { %s = %s }", value, name, value)
		if name == "arguments" {
			set = "undefined" // strict code must not contain an assignment to this name
		}
		fmt.Fprintf(&b, "[%q, () => %s, %s],", name, name, set)
	}
	b.WriteString("]]")
	return b.String(), nil
}

// parseEval parses a text of eval within the limits.
func parseEval(text string) (*ast.Program, error) {
	if err := checkSource(text); err != nil {
		return nil, err
	}
	return goja.Parse("", text)
}

// namesOf returns the names of all variables in a program, in any scope.
func namesOf(program *ast.Program) ([]string, error) {
	names := map[string]bool{}
	visit(reflect.ValueOf(program.Body), func(v reflect.Value) bool {
		switch n := v.Interface().(type) {
		case *ast.Identifier:
			names[n.Name.String()] = true
		case *ast.PropertyShort:
			names[n.Name.Name.String()] = true
		}
		return true
	})
	delete(names, "eval") // remains the engine's own eval
	if len(names) > maxNames {
		return nil, failure("RangeError: the text of eval has more than %d names", maxNames)
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// declaredNames returns the names that a program declares in the function that calls eval.
func declaredNames(program *ast.Program) []string {
	var names []string
	for _, statement := range program.Body {
		if f, ok := statement.(*ast.FunctionDeclaration); ok {
			names = append(names, f.Function.Name.Name.String())
		}
	}
	for _, declaration := range program.DeclarationList {
		for _, binding := range declaration.List {
			names = appendBound(names, binding.Target)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "eval" })
}

// appendBound appends the names that a pattern binds.
func appendBound(names []string, target ast.Expression) []string {
	switch t := target.(type) {
	case *ast.Identifier:
		return append(names, t.Name.String())
	case *ast.AssignExpression: // a target with a default value
		return appendBound(names, t.Left)
	case *ast.ArrayPattern:
		for _, element := range t.Elements {
			names = appendBound(names, element)
		}
		return appendBound(names, t.Rest)
	case *ast.ObjectPattern:
		for _, property := range t.Properties {
			switch p := property.(type) {
			case *ast.PropertyShort:
				names = append(names, p.Name.Name.String())
			case *ast.PropertyKeyed:
				names = appendBound(names, p.Value)
			}
		}
		return appendBound(names, t.Rest)
	}
	return names
}

// compileInScope compiles the text of a direct eval for the scope named scopeName.
func compileInScope(text string, strict bool) (*script, error) {
	program, err := parseEval(text)
	if err != nil {
		return nil, err
	}
	if hasWith(program) {
		return nil, failure("SyntaxError: with is not supported in the text of eval")
	}
	body := withoutDeclarations(program.Body)
	if strict || isStrict(program) {
		if body, err = strictBody(text); err != nil {
			return nil, err
		}
	}
	program.DeclarationList = nil
	scope := callOf(scopeName, &ast.Identifier{Idx: 1})
	program.Body = []ast.Statement{&ast.WithStatement{Object: scope, Body: &ast.BlockStatement{List: body}}}
	renameThis(program)
	return compileTree(program, false)
}

// withoutDeclarations turns top-level function declarations into assignments, which come first. The
// caller declares the variables.
func withoutDeclarations(body []ast.Statement) []ast.Statement {
	var functions, others []ast.Statement
	for _, statement := range body {
		f, ok := statement.(*ast.FunctionDeclaration)
		if !ok {
			others = append(others, statement)
			continue
		}
		value := *f.Function
		value.Name = nil // a name inside the function would be another variable
		functions = append(functions, &ast.VariableStatement{
			Var: f.Idx0(), List: []*ast.Binding{{Target: f.Function.Name, Initializer: &value}},
		})
	}
	return append(functions, others...)
}

// strictBody returns a call of a strict function with the text as its body, so that its variables
// are local.
func strictBody(text string) ([]ast.Statement, error) {
	program, err := goja.Parse("", "(() => {'use strict';"+withLastValue(text)+"\n})")
	if err != nil {
		return nil, err
	}
	statement, ok := program.Body[0].(*ast.ExpressionStatement)
	if !ok {
		return nil, failure("SyntaxError: unexpected token")
	}
	call := &ast.CallExpression{Callee: statement.Expression}
	return []ast.Statement{&ast.ExpressionStatement{Expression: call}}, nil
}

func isStrict(program *ast.Program) bool {
	for _, statement := range program.Body {
		s, ok := statement.(*ast.ExpressionStatement)
		if !ok {
			return false
		}
		text, ok := s.Expression.(*ast.StringLiteral)
		if !ok {
			return false
		}
		if text.Value == "use strict" {
			return true
		}
	}
	return false
}

func hasWith(program *ast.Program) bool {
	found := false
	visit(reflect.ValueOf(program.Body), func(v reflect.Value) bool {
		if _, ok := v.Interface().(*ast.WithStatement); ok {
			found = true
		}
		return !found
	})
	return found
}

// renameThis makes the scope object provide the value of `this`. Calls of the scope's functions are
// made without `this`, because the functions are not methods of the scope object.
func renameThis(program *ast.Program) {
	visit(reflect.ValueOf(program.Body), func(v reflect.Value) bool {
		switch n := v.Interface().(type) {
		case *ast.CallExpression:
			n.Callee = detached(n.Callee)
		case *ast.TemplateLiteral:
			n.Tag = detached(n.Tag)
		}
		return true
	})
	visit(reflect.ValueOf(program.Body), func(v reflect.Value) bool {
		switch n := v.Interface().(type) {
		case *ast.ThisExpression:
			if v.Kind() == reflect.Interface {
				v.Set(reflect.ValueOf(&ast.Identifier{Name: thisName, Idx: n.Idx}))
			}
			return false
		// Have their own `this`.
		case *ast.FunctionLiteral, *ast.FieldDefinition, *ast.ClassStaticBlock:
			return false
		}
		return true
	})
}

// detached returns a callee that is called without `this`: (0, f) for f.
func detached(callee ast.Expression) ast.Expression {
	switch c := callee.(type) {
	case *ast.Identifier:
		if c.Name == "eval" || strings.HasPrefix(string(c.Name), " ") {
			return c
		}
		zero := &ast.NumberLiteral{Idx: c.Idx, Literal: "0", Value: int64(0)}
		return &ast.SequenceExpression{Sequence: []ast.Expression{zero, c}}
	case *ast.Optional:
		c.Expression = detached(c.Expression)
	}
	return callee
}

// visit calls f for the nodes of a syntax tree, outer nodes first. A node that is stored in an
// interface is visited both as an interface and as a pointer. If f returns false, the children of
// the node are skipped. The recursion is bounded, because the nesting of the tree is limited.
func visit(v reflect.Value, f func(reflect.Value) bool) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() && f(v) {
			visit(v.Elem(), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			visit(v.Index(i), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if isNode(v.Type().Field(i)) {
				visit(v.Field(i), f)
			}
		}
	default:
	}
}

// isNode reports whether a field of a node is a child in the tree. A File is the source, and a
// DeclarationList repeats statements of the body.
func isNode(f reflect.StructField) bool {
	return f.IsExported() && f.Name != "File" && f.Name != "DeclarationList"
}

// setEval makes the engine's own eval accessible only under a name that replaced calls use.
func (e *engine) setEval() error {
	if _, err := e.rt.RunString("let eval = globalThis.eval"); err != nil {
		return err
	}
	return e.defineHidden(scopeName, e.rt.ToValue(func(goja.FunctionCall) goja.Value {
		scope := e.scope
		e.scope = nil
		return scope
	}))
}

// defineHidden defines a global function that scripts can neither name nor change.
func (e *engine) defineHidden(name unistring.String, v goja.Value) error {
	return e.rt.GlobalObject().DefineDataProperty(name.String(), v, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
}

// variables returns a list with the result of variablesSource, or the message of a syntax error.
func (e *engine) variables(text string) any {
	source, err := variablesSource(text)
	if err != nil {
		return syntaxMessage(err)
	}
	return []string{source}
}

// compileDirect compiles the text of a direct eval. It returns the message of a syntax error.
func (e *engine) compileDirect(text string, strict bool) any {
	s, err := compileInScope(text, strict)
	if err != nil {
		return syntaxMessage(err)
	}
	return s
}

// runDirect runs a program of compileDirect with an object that has the caller's variables.
func (e *engine) runDirect(s *script, scope goja.Value) goja.Value {
	e.scope = scope
	return e.runText(s)
}
