package js

import (
	"context"
	_ "embed" // for the prelude
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

const (
	// DefaultTimeout bounds one call, as MongoDB's internalQueryJavaScriptFnTimeoutMillis does.
	DefaultTimeout = 5 * time.Second
	// maxCallStack bounds recursion.
	maxCallStack = 2000
	// maxHeapGrowth bounds by how much the process's heap may grow while a call runs.
	maxHeapGrowth = 512 << 20
	// guardInterval is how often a call that takes long is looked at.
	guardInterval = 10 * time.Millisecond
)

//go:embed prelude.js
var preludeSource string

// Options bound a function. The zero Options have the defaults.
type Options struct {
	// Timeout bounds one call; zero means DefaultTimeout.
	Timeout time.Duration
}

// Func is a compiled function. It is safe for concurrent use.
type Func struct {
	source  string
	timeout time.Duration
	engines sync.Pool
}

// engine is a JavaScript runtime with the function in it. It belongs to one call at a time.
type engine struct {
	rt *goja.Runtime
	fn goja.Callable
	// What conversions need, looked up once.
	classes map[string]*goja.Object
}

// New compiles code: a function, an expression, or the statements of a function's body.
func New(code string, opts Options) (*Func, error) {
	source, err := functionSource(code)
	if err != nil {
		return nil, err
	}
	f := &Func{source: source, timeout: opts.Timeout}
	if f.timeout <= 0 {
		f.timeout = DefaultTimeout
	}
	e, err := f.newEngine()
	if err != nil {
		return nil, err
	}
	f.engines.Put(e)
	return f, nil
}

// functionSource makes the source of a function expression.
func functionSource(code string) (string, error) {
	trimmed := strings.TrimRight(strings.TrimSpace(code), "; \t\r\n")
	switch expr := onlyExpression("(" + trimmed + "\n)"); expr.(type) {
	case nil:
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
		return "(" + trimmed + "\n)", nil
	default:
		return "(function() { return (" + trimmed + "\n); })", nil
	}
	source := "(function() {" + code + "\n})"
	if _, ok := onlyExpression(source).(*ast.FunctionLiteral); ok {
		return source, nil
	}
	_, err := parser.ParseFile(nil, "", source, 0)
	if err == nil {
		err = errors.New("unexpected token")
	}
	return "", failure("SyntaxError: %v", err)
}

// onlyExpression returns the expression of a program that is nothing else.
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

// prelude is compiled once. Regular expressions that goja leaves to regexp2 would not notice an interrupt: the
// library's default, which nothing else in the process relies on, ends them when a call would end.
var prelude = sync.OnceValues(func() (*goja.Program, error) {
	regexp2.DefaultMatchTimeout = DefaultTimeout
	return goja.Compile("prelude.js", preludeSource, true)
})

func (f *Func) newEngine() (*engine, error) {
	program, err := prelude()
	if err != nil {
		return nil, err
	}
	rt := goja.New()
	rt.SetMaxCallStackSize(maxCallStack)
	if _, err := rt.RunProgram(program); err != nil {
		return nil, err
	}
	v, err := rt.RunString(f.source)
	if err != nil {
		return nil, failure("%v", err)
	}
	fn, ok := goja.AssertFunction(v)
	if !ok {
		return nil, failure("not a function")
	}
	return &engine{rt: rt, fn: fn, classes: map[string]*goja.Object{}}, nil
}

func (f *Func) engine() (*engine, error) {
	if e, ok := f.engines.Get().(*engine); ok {
		return e, nil
	}
	return f.newEngine()
}

// Call calls the function with `this` (missing for undefined) and arguments, and converts its result.
func (f *Func) Call(ctx context.Context, this bsonx.Value, args ...bsonx.Value) (bsonx.Value, error) {
	var result bsonx.Value
	err := f.call(ctx, this, args, func(e *engine, v goja.Value) (err error) {
		result, err = e.toBSON(v)
		return err
	})
	return result, err
}

// Test calls the function as $where does, with the document as `this` and as the global obj, and tells whether its
// result is true in JavaScript.
func (f *Func) Test(ctx context.Context, doc bsonx.Doc) (bool, error) {
	result := false
	err := f.call(ctx, bsonx.Document(doc), nil, func(_ *engine, v goja.Value) error {
		result = v.ToBoolean()
		return nil
	})
	return result, err
}

func (f *Func) call(ctx context.Context, this bsonx.Value, args []bsonx.Value, use func(*engine, goja.Value) error) error {
	e, err := f.engine()
	if err != nil {
		return err
	}
	g := e.guard(ctx, f.timeout)
	err = e.run(func() error {
		receiver := e.toJS(this)
		if err := e.rt.Set("obj", receiver); err != nil {
			return err
		}
		values := make([]goja.Value, len(args))
		for i, arg := range args {
			values[i] = e.toJS(arg)
		}
		v, err := e.fn(receiver, values...)
		if err != nil {
			return err
		}
		return use(e, v)
	})
	g.stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		f.engines.Put(e)
		return nil
	}
	// An engine that failed is not used again: it may hold what made it fail.
	return asFailure(err)
}

// run turns the panics of goja's API, which stand for JavaScript exceptions, into errors.
func (e *engine) run(body func() error) (err error) {
	if thrown := e.rt.Try(func() { err = body() }); thrown != nil {
		return thrown
	}
	return err
}

func asFailure(err error) error {
	var user *mongoerr.Error
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	var exception *goja.Exception
	switch {
	case errors.As(err, &user):
		return user
	case errors.As(err, &interrupted):
		return failure("Interrupted: %v", interrupted.Value())
	case errors.As(err, &overflow):
		return failure("InternalError: too much recursion")
	case errors.As(err, &exception):
		return failure("%s", exception.Value().String())
	}
	return failure("%v", err)
}

func failure(format string, args ...any) error {
	return mongoerr.New(mongoerr.JSInterpreterFailure, format, args...)
}
