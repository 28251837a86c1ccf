package engine

import (
	"context"

	"github.com/dop251/goja"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/js"
)

// interp is an engine with several functions. It implements js.interp.
type interp struct {
	engine *engine
	opts   js.Options
}

// routine is a function of an interp.
type routine struct{ fn goja.Callable }

// callable returns the function of a routine that Compile returned.
func callable(fn js.Routine) goja.Callable { return fn.(*routine).fn }

// newInterp returns an engine without functions.
func newInterp(opts js.Options) (*interp, error) {
	e, err := newEngine()
	if err != nil {
		return nil, err
	}
	stored, err := storedScripts(&opts)
	if err != nil {
		return nil, err
	}
	return &interp{e, opts}, e.define(stored)
}

// SetGlobal sets a global variable for all functions.
func (i *interp) SetGlobal(name string, v bsonx.Value) error {
	return i.engine.run(func() error { return i.engine.rt.Set(name, i.engine.convert.toJS(v)) })
}

// Define defines a Go function as a global function. An error of fn ends the call of the script.
func (i *interp) Define(name string, fn func(args []bsonx.Value) error) error {
	e := i.engine
	return e.rt.Set(name, func(call goja.FunctionCall) goja.Value {
		args := make([]bsonx.Value, len(call.Arguments))
		for k, arg := range call.Arguments {
			v, err := e.convert.toBSON(arg)
			if err != nil {
				panic(e.rt.NewGoError(err))
			}
			args[k] = v
		}
		if err := fn(args); err != nil {
			panic(e.rt.NewGoError(err))
		}
		return goja.Undefined()
	})
}

// Compile implements js.Interp.
func (i *interp) Compile(code string) (js.Routine, error) {
	source, err := functionSource(code)
	if err != nil {
		return nil, err
	}
	fn, err := i.engine.function(source)
	if err != nil {
		return nil, err
	}
	return &routine{fn}, nil
}

// Call calls a function with `this` (missing for undefined) and arguments, and converts the result.
func (i *interp) Call(ctx context.Context, fn js.Routine, this bsonx.Value, args ...bsonx.Value) (bsonx.Value, error) {
	var result bsonx.Value
	err := i.engine.call(ctx, &i.opts, callable(fn), this, args, func(e *engine, v goja.Value) (err error) {
		result, err = e.convert.toBSON(v)
		return err
	})
	return result, err
}

// Run calls a function for its effects, and drops the result.
func (i *interp) Run(ctx context.Context, fn js.Routine, this bsonx.Value, args ...bsonx.Value) error {
	return i.engine.call(ctx, &i.opts, callable(fn), this, args, func(*engine, goja.Value) error { return nil })
}

// Fold calls a function with a state and the elements of each array in turn. The result of a call
// is the state for the next call. Fold returns the last state. Only that state is converted to
// BSON.
func (i *interp) Fold(ctx context.Context, fn js.Routine, state bsonx.Value,
	inputs []bsonx.Value,
) (bsonx.Value, error) {
	e := i.engine
	fold := func(goja.Value, ...goja.Value) (goja.Value, error) {
		v := e.convert.toJS(state)
		for _, input := range inputs {
			args := []goja.Value{v}
			for it := input.Doc().Iter(); it.Next(); {
				args = append(args, e.convert.toJS(it.Value()))
			}
			var err error
			if v, err = callable(fn)(goja.Undefined(), args...); err != nil {
				return nil, err
			}
		}
		return v, nil
	}
	return i.Call(ctx, &routine{fold}, bsonx.Missing)
}
