package engine

import (
	"context"
	_ "embed" // for the prelude
	"errors"
	"reflect"
	"runtime"
	"strings"
	"sync"

	"github.com/dop251/goja"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

//go:embed prelude.js
var preludeSource string

// engine is a JavaScript runtime. Only one call at a time may use it.
type engine struct {
	rt      *goja.Runtime
	fn      goja.Callable // the function of a compiledFunc; nil in an interp
	watch   watch
	convert converter
	limits  limiter
	regexps regexps
	// checkChars throws an error if a text is too long: see concat.js.
	checkChars goja.Value
	// scope contains the variables for the next direct eval.
	scope goja.Value
}

// prelude is compiled at the first use.
var prelude = sync.OnceValues(func() (*script, error) { return compileChecked(preludeSource, true) })

func newEngine() (*engine, error) {
	program, err := prelude()
	if err != nil {
		return nil, err
	}
	allowDeepStacks()
	rt := goja.New()
	e := &engine{rt: rt, watch: watch{rt: rt}}
	e.convert = converter{rt: rt, watch: &e.watch, classes: map[string]*goja.Object{}}
	e.limits = limiter{rt: rt, watch: &e.watch}
	e.regexps = regexps{rt: rt, watch: &e.watch, limits: &e.limits, quick: maxSteps}
	e.rt.SetMaxCallStackSize(maxCallStack)
	if err := errors.Join(e.setNatives(), e.setConcat()); err != nil {
		return nil, err
	}
	if _, err := e.runScript(program); err != nil {
		return nil, err
	}
	return e, e.setLimits()
}

// function compiles a function expression.
func (e *engine) function(source string) (goja.Callable, error) {
	var v goja.Value
	err := e.run(func() (err error) {
		v, err = e.runSource(source)
		return err
	})
	if err != nil {
		return nil, asFailure(err)
	}
	fn, ok := goja.AssertFunction(v)
	if !ok {
		return nil, failure("not a function")
	}
	return fn, nil
}

var promiseType = reflect.TypeFor[*goja.Promise]()

// call calls a function of the engine within the limits. It passes the result to use, which also
// runs within the limits.
func (e *engine) call(ctx context.Context, opts *js.Options, fn goja.Callable, this bsonx.Value, args []bsonx.Value,
	use func(*engine, goja.Value) error,
) error {
	w := &e.watch
	g := w.guard(ctx, timeout(opts))
	w.ctx, w.deadline, w.guarded = ctx, g.deadline, g
	err := e.run(func() error {
		receiver := e.convert.toJS(this)
		if err := e.rt.Set("obj", receiver); err != nil {
			return err
		}
		values := make([]goja.Value, len(args))
		for i, arg := range args {
			values[i] = e.convert.toJS(arg)
		}
		v, err := fn(receiver, values...)
		if err != nil {
			return err
		}
		if object, ok := v.(*goja.Object); ok && object.ExportType() == promiseType {
			return failure("TypeError: the function returns a promise: it must not be async")
		}
		return use(e, v)
	})
	if err != nil {
		err = e.described(err)
	}
	g.stop()
	w.guarded = nil
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// described converts an error of a script to a failure. A function of the script may produce the
// text of an exception, so this must run within the call's limits.
func (e *engine) described(err error) error {
	var described error
	failed := e.run(func() error {
		described = asFailure(err)
		return nil
	})
	var exception *goja.Exception
	if errors.As(failed, &exception) {
		return failure("the function threw a value that cannot be converted to a string")
	}
	if failed != nil {
		return asFailure(failed)
	}
	return described
}

// run runs body and converts panics of goja's API to errors. Such a panic is normally a JavaScript
// exception. Interrupts and stack overflows are not converted by goja's Try, because scripts must
// not catch them. A fault of goja itself becomes an error of the script.
func (e *engine) run(body func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *goja.InterruptedError:
			err = p
		case *goja.StackOverflowError:
			err = p
		default:
			if !raisedByGoja() {
				panic(p)
			}
			err = failure("InternalError: the JavaScript engine failed: %v", p)
		}
	}()
	if thrown := e.rt.Try(func() { err = body() }); thrown != nil {
		return thrown
	}
	return err
}

// raisedByGoja reports whether a recovered panic comes from goja, and not from a Go function that a
// script called. The latter is a bug of this program. The stack must be searched, because goja
// panics again with values that it does not know.
func raisedByGoja() bool {
	pcs := make([]uintptr, 128)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	origin, panicking := "", false
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			panicking = true
		case panicking && !strings.HasPrefix(frame.Function, "runtime."):
			origin, panicking = frame.Function, false
		}
	}
	return strings.HasPrefix(origin, "github.com/dop251/goja")
}

func asFailure(err error) error {
	var exception *goja.Exception
	if errors.As(err, &exception) {
		return asThrown(exception.Value())
	}
	var user *mongoerr.Error
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	switch {
	case errors.As(err, &user):
		return user
	case errors.As(err, &interrupted):
		if ended, ok := interrupted.Value().(*mongoerr.Error); ok {
			return ended
		}
		return failure("Interrupted: %v", interrupted.Value())
	case errors.As(err, &overflow):
		return failure("InternalError: too much recursion")
	}
	return failure("%v", err)
}

// asThrown returns the failure for a thrown value. It does not use goja's conversion of a GoError,
// because the conversion copies objects of the script.
func asThrown(v goja.Value) error {
	if object, ok := v.(*goja.Object); ok {
		inner, ok := field(object, "value").(*goja.Object)
		if ok && inner.ExportType().Implements(errorType) {
			var user *mongoerr.Error
			if err, _ := inner.Export().(error); errors.As(err, &user) {
				return user
			}
		}
	}
	return failure("%s", withoutInternals(v.String()))
}

// withoutInternals replaces goja's message about an object that cannot be converted to text,
// because the message shows the object's memory.
func withoutInternals(text string) string {
	if begin, _, ok := strings.Cut(text, "Could not convert &{"); ok {
		return begin + "Could not convert an object to a primitive value"
	}
	return text
}

var errorType = reflect.TypeFor[error]()

func failure(format string, args ...any) error {
	return mongoerr.New(mongoerr.JSInterpreterFailure, format, args...)
}

// callProgram runs a program whose value is a function, and calls that function.
func callProgram(rt *goja.Runtime, compiled func() (*goja.Program, error), args ...goja.Value) (goja.Value, error) {
	program, err := compiled()
	if err != nil {
		return nil, err
	}
	v, err := rt.RunProgram(program)
	if err != nil {
		return nil, err
	}
	run, _ := goja.AssertFunction(v)
	return run(goja.Undefined(), args...)
}

// nativeObject returns an object with Go functions and values, for a program that needs them.
func nativeObject(rt *goja.Runtime, values map[string]any) (*goja.Object, error) {
	object := rt.NewObject()
	for name, value := range values {
		if err := object.Set(name, value); err != nil {
			return nil, err
		}
	}
	return object, nil
}
