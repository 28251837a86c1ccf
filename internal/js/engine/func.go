package engine

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/js"
)

const (
	// maxCallStack is the largest depth of recursion.
	maxCallStack = 2000
	// maxHeapGrowth is the number of bytes by which the heap of the process may grow during a call,
	// in addition to garbage. The garbage is assumed to be as large as the live heap, but at most
	// maxGarbage. The sum of both also bounds the length of prototype chains: see maxStack.
	maxHeapGrowth = 512 << 20
	maxGarbage    = 128 << 20
	// maxStackGrowth is the number of bytes by which the stacks of the process may grow.
	maxStackGrowth = 128 << 20
	// guardInterval is the time between two checks of a long call.
	guardInterval = 2 * time.Millisecond
	// measureInterval is the largest age of a memory measurement at the start of a call.
	measureInterval = 50 * time.Millisecond
)

// Engine runs functions on goja. It implements js.Engine.
type Engine struct{}

// Name implements js.Engine.
func (Engine) Name() string { return "goja" }

// New implements js.Engine.
func (Engine) New(code string, opts js.Options) (js.Func, error) {
	f, err := compileFunc(code, opts)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// NewInterp implements js.Engine.
func (Engine) NewInterp(opts js.Options) (js.Interp, error) {
	i, err := newInterp(opts)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// timeout returns the time limit for one call.
func timeout(o *js.Options) time.Duration {
	if o.Timeout > 0 {
		return o.Timeout
	}
	return js.DefaultTimeout
}

// compiledFunc is a compiled function. It is safe for concurrent use.
type compiledFunc struct {
	source  string
	opts    js.Options
	stored  []bsonx.Doc
	engines sync.Pool
}

// compileFunc compiles code: a function, an expression, or the statements of a function's body.
func compileFunc(code string, opts js.Options) (*compiledFunc, error) {
	source, err := functionSource(code)
	if err != nil {
		return nil, err
	}
	stored, err := storedScripts(&opts)
	if err != nil {
		return nil, err
	}
	f := &compiledFunc{source: source, opts: opts, stored: stored}
	e, err := f.newEngine()
	if err != nil {
		return nil, err
	}
	f.engines.Put(e)
	return f, nil
}

// functionSource returns the source of a function expression.
func functionSource(code string) (string, error) {
	if err := checkSource(code); err != nil {
		return "", err
	}
	trimmed := strings.TrimRight(strings.TrimSpace(code), "; \t\r\n")
	switch expr := onlyExpression("(" + trimmed + "\n)"); expr.(type) {
	case nil:
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
		return "(" + trimmed + "\n)", nil
	default:
		return "(function() { return (" + trimmed + "\n); })", nil
	}
	source := "(function() {" + withLastValue(code) + "\n})"
	if _, ok := onlyExpression(source).(*ast.FunctionLiteral); ok {
		return source, nil
	}
	_, err := parser.ParseFile(nil, "", source, 0)
	if err == nil {
		err = errors.New("unexpected token")
	}
	return "", failure("SyntaxError: %v", err)
}

// onlyExpression returns the expression of a program that consists only of one expression, or nil.
func onlyExpression(source string) ast.Expression {
	program, err := parser.ParseFile(nil, "", source, 0)
	if err != nil || len(program.Body) != 1 {
		return nil
	}
	statement, ok := program.Body[0].(*ast.ExpressionStatement)
	if !ok {
		return nil
	}
	return statement.Expression
}

func (f *compiledFunc) newEngine() (*engine, error) {
	e, err := newEngine()
	if err != nil {
		return nil, err
	}
	if err := e.define(f.stored); err != nil {
		return nil, err
	}
	e.fn, err = e.function(f.source)
	return e, err
}

func (f *compiledFunc) engine() (*engine, error) {
	if e, ok := f.engines.Get().(*engine); ok {
		return e, nil
	}
	return f.newEngine()
}

// Call implements js.Func.
func (f *compiledFunc) Call(this bsonx.Value, args ...bsonx.Value) (bsonx.Value, error) {
	var result bsonx.Value
	err := f.call(this, args, func(e *engine, v goja.Value) (err error) {
		result, err = e.convert.toBSON(v)
		return err
	})
	return result, err
}

// Test implements js.Func.
func (f *compiledFunc) Test(doc bsonx.Doc) (bool, error) {
	result := false
	err := f.call(bsonx.Document(doc), nil, func(_ *engine, v goja.Value) error {
		result = v.ToBoolean()
		return nil
	})
	return result, err
}

func (f *compiledFunc) call(this bsonx.Value, args []bsonx.Value, use func(*engine, goja.Value) error) error {
	e, err := f.engine()
	if err != nil {
		return err
	}
	if err := e.call(f.opts.Running.Context(), &f.opts, e.fn, this, args, use); err != nil {
		// An engine is not reused after a failure, because it may keep the objects that caused the
		// failure.
		return err
	}
	f.engines.Put(e)
	return nil
}
