package js

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// DefaultTimeout bounds one call, as MongoDB's internalQueryJavaScriptFnTimeoutMillis does.
const DefaultTimeout = 5 * time.Second

// Options bound a function. The zero Options have the defaults.
type Options struct {
	// Timeout bounds one call; zero means DefaultTimeout.
	Timeout time.Duration
	// Running, where set, is the operation that the function serves: see Func.Call.
	Running *interrupt.Running
	// Disabled refuses every function, as a server without scripting does.
	Disabled bool
	// Stored, where set, returns the documents of system.js, whose values functions know by their
	// names.
	Stored func() ([]bsonx.Doc, error)
}

// Refused reports whether every function is refused: JavaScript is disabled, or the program has no
// engine.
func (o *Options) Refused() bool { return o.Disabled || installed == nil }

// Engine compiles and runs JavaScript. It is safe for concurrent use.
type Engine interface {
	// Name returns the name of the engine.
	Name() string
	// New compiles code: a function, an expression, or the statements of a function's body.
	New(code string, opts Options) (Func, error)
	// NewInterp returns an Interp without functions.
	NewInterp(opts Options) (Interp, error)
}

// Func is a compiled function. It is safe for concurrent use.
type Func interface {
	// Call calls the function with `this` (missing for undefined) and arguments, and converts its
	// result. It ends when the operation of the function's Options does.
	Call(this bsonx.Value, args ...bsonx.Value) (bsonx.Value, error)
	// Test calls the function as $where does, with the document as `this` and as the global obj,
	// and tells whether its result is true in JavaScript.
	Test(doc bsonx.Doc) (bool, error)
}

// Interp is one engine in which several functions share their globals, as the functions of one
// mapReduce do. It belongs to one goroutine, and is not used after a failure.
type Interp interface {
	// SetGlobal makes a value known to all functions by a name.
	SetGlobal(name string, v bsonx.Value) error
	// Define makes a Go function known to all functions by a name. Its error ends the call that
	// called it.
	Define(name string, fn func(args []bsonx.Value) error) error
	// Compile makes a function of code; see Engine.
	Compile(code string) (Routine, error)
	// Call calls a function with `this` (missing for undefined) and arguments, and converts its
	// result.
	Call(ctx context.Context, fn Routine, this bsonx.Value, args ...bsonx.Value) (bsonx.Value, error)
	// Run calls a function for what it does, and drops its result.
	Run(ctx context.Context, fn Routine, this bsonx.Value, args ...bsonx.Value) error
	// Fold calls a function with a state and the elements of each array in turn. The result of a
	// call is the state of the next one, and no state leaves the engine before the last, which Fold
	// returns.
	Fold(ctx context.Context, fn Routine, state bsonx.Value, inputs []bsonx.Value) (bsonx.Value, error)
}

// Routine is a function of the Interp that compiled it, and only for it.
type Routine any

// installed is the program's engine, nil in a program without JavaScript.
var installed Engine

// Use installs the program's engine. Only an init function calls it.
func Use(e Engine) { installed = e }

// EngineName returns the name of the program's engine, "none" without one: what buildInfo shows.
func EngineName() string {
	if installed == nil {
		return "none"
	}
	return installed.Name()
}

// codeDisabled is MongoDB's code for JavaScript on a server whose JavaScript is disabled.
const codeDisabled = mongoerr.Code(31264)

// check returns MongoDB's error for a server whose JavaScript is disabled, where every function is
// refused.
func (o *Options) check() error {
	if o.Refused() {
		return mongoerr.New(codeDisabled, "Cannot run server-side javascript without the javascript engine enabled")
	}
	return nil
}

// New compiles code with the program's engine; see Engine.
func New(code string, opts Options) (Func, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	return installed.New(code, opts)
}

// NewInterp returns an Interp of the program's engine; see Engine.
func NewInterp(opts Options) (Interp, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	return installed.NewInterp(opts)
}
