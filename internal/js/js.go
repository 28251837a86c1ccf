package js

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// DefaultTimeout is the default time limit for one call, like MongoDB's
// internalQueryJavaScriptFnTimeoutMillis.
const DefaultTimeout = 5 * time.Second

// Options contains limits for calls of a function. The zero value means the default limits.
type Options struct {
	// Timeout is the time limit for one call. Zero means DefaultTimeout.
	Timeout time.Duration
	// Running signals interrupts of the operation that the function serves. It may be nil. See
	// Func.Call.
	Running *interrupt.Running
	// Disabled makes every function fail to compile, like on a server without scripting.
	Disabled bool
	// Stored returns the documents of the collection system.js, whose values functions can use by
	// name. It may be nil.
	Stored func() ([]bsonx.Doc, error)
}

// Refused reports whether functions cannot be compiled, because JavaScript is disabled or the
// program has no engine.
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
	// Call calls the function with `this` (missing means undefined) and arguments, and converts the
	// result. An interrupt of the operation in Options.Running ends the call.
	Call(this bsonx.Value, args ...bsonx.Value) (bsonx.Value, error)
	// Test calls the function as $where does, with the document as `this` and as the global obj. It
	// reports whether the result is true in JavaScript.
	Test(doc bsonx.Doc) (bool, error)
}

// Interp is an engine in which several functions share their global variables, like the functions
// of one mapReduce. It belongs to one goroutine, and must not be used after a failure.
type Interp interface {
	// SetGlobal sets a global variable for all functions.
	SetGlobal(name string, v bsonx.Value) error
	// Define defines a global JavaScript function that calls the Go function fn. An error of fn
	// ends the call of the script.
	Define(name string, fn func(args []bsonx.Value) error) error
	// Compile compiles code to a function; see Engine.
	Compile(code string) (Routine, error)
	// Call calls a function with `this` (missing means undefined) and arguments, and converts the
	// result.
	Call(ctx context.Context, fn Routine, this bsonx.Value, args ...bsonx.Value) (bsonx.Value, error)
	// Run calls a function for its side effects and discards the result.
	Run(ctx context.Context, fn Routine, this bsonx.Value, args ...bsonx.Value) error
	// Fold calls a function with a state and the elements of each array in turn. The result of a
	// call is the state for the next call. Fold returns the last state. Only that state is
	// converted to BSON.
	Fold(ctx context.Context, fn Routine, state bsonx.Value, inputs []bsonx.Value) (bsonx.Value, error)
}

// Routine is a function compiled by an Interp. Only that Interp can call it.
type Routine any

// installed is the program's engine, or nil in a program without JavaScript.
var installed Engine

// Use installs the program's engine. Only an init function may call it.
func Use(e Engine) { installed = e }

// EngineName returns the name of the program's engine, or "none", for buildInfo.
func EngineName() string {
	if installed == nil {
		return "none"
	}
	return installed.Name()
}

// codeDisabled is MongoDB's error code for JavaScript on a server whose JavaScript is disabled.
const codeDisabled = mongoerr.Code(31264)

// check returns MongoDB's error for disabled JavaScript if functions cannot be compiled.
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
