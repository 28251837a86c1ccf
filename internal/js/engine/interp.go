package engine

import (
	"context"

	"github.com/dop251/goja"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/js"
)

// interp is an engine with several functions. It implements js.Interp.
type interp struct {
	engine *engine
	opts   js.Options
}

// routine is a compiled function of an interp. It implements js.Routine.
type routine struct{ fn goja.Callable }

// callable returns the function in a routine.
func callable(fn js.Routine) goja.Callable { return fn.(*routine).fn }

// newInterp returns an interp without functions.
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

// SetGlobal implements js.Interp.
func (i *interp) SetGlobal(name string, v bsonx.Value) error {
	return i.engine.run(func() error { return i.engine.rt.Set(name, i.engine.convert.toJS(v)) })
}

// Define implements js.Interp.
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

// Call implements js.Interp.
func (i *interp) Call(ctx context.Context, fn js.Routine, this bsonx.Value, args ...bsonx.Value) (bsonx.Value, error) {
	var result bsonx.Value
	err := i.engine.call(ctx, &i.opts, callable(fn), this, args, func(e *engine, v goja.Value) (err error) {
		result, err = e.convert.toBSON(v)
		return err
	})
	return result, err
}

// Run implements js.Interp.
func (i *interp) Run(ctx context.Context, fn js.Routine, this bsonx.Value, args ...bsonx.Value) error {
	return i.engine.call(ctx, &i.opts, callable(fn), this, args, func(*engine, goja.Value) error { return nil })
}

// Fold implements js.Interp. Only the last state is converted to BSON.
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
