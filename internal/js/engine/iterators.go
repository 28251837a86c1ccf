package engine

import (
	"github.com/dop251/goja"
)

// heard wraps a built-in function so that it checks for an interrupt. It returns other values
// unchanged.
func (l *limiter) heard(v goja.Value) goja.Value {
	native, ok := v.Export().(func(goja.FunctionCall) goja.Value)
	if !ok {
		return v
	}
	return l.rt.ToValue(func(call goja.FunctionCall) goja.Value {
		l.watch.look()
		// The constructor of Map passes nil for missing parts of an entry.
		for i, arg := range call.Arguments {
			if arg == nil {
				call.Arguments[i] = goja.Undefined()
			}
		}
		return native(call)
	})
}

// setIterators makes the built-in iterators check for interrupts. A spread, a destructuring or a
// constructor visits a whole list in one instruction.
func (l *limiter) setIterators() error {
	v, err := l.rt.RunString("[[][Symbol.iterator](), new Map().entries(), new Set().values(), ''[Symbol.iterator](), 'a'.matchAll(/a/g)].map(Object.getPrototypeOf)")
	if err != nil {
		return err
	}
	var protos []*goja.Object
	if err := l.rt.ExportTo(v, &protos); err != nil {
		return err
	}
	steps := 0
	for _, proto := range protos {
		next, ok := proto.Get("next").Export().(func(goja.FunctionCall) goja.Value)
		if !ok {
			return failure("an iterator has no method next")
		}
		err := proto.DefineDataProperty("next", l.rt.ToValue(func(call goja.FunctionCall) goja.Value {
			if steps++; steps%large == 0 {
				l.watch.room(large * elementSize)
			}
			l.watch.look()
			return next(call)
		}), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
		if err != nil {
			return err
		}
	}
	return nil
}

// maxGenerators is the largest nesting depth of running generators. The engine takes seconds to end
// a thousand nested generators.
const maxGenerators = 150

// setGenerators limits the nesting of generators that call generators, as with yield*.
func (l *limiter) setGenerators() error {
	v, err := l.rt.RunString("Object.getPrototypeOf(function* () {}).prototype")
	if err != nil {
		return err
	}
	proto, depth := v.ToObject(l.rt), 0
	for _, name := range []string{"next", "return", "throw"} {
		method, ok := proto.Get(name).Export().(func(goja.FunctionCall) goja.Value)
		if !ok {
			return failure("a generator has no method %s", name)
		}
		err := proto.DefineDataProperty(name, l.rt.ToValue(func(call goja.FunctionCall) goja.Value {
			if depth++; depth > maxGenerators {
				depth--
				panic(l.refusal(failure("RangeError: generators run in each other deeper than %d levels", maxGenerators)))
			}
			defer func() { depth-- }()
			return method(call)
		}), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
		if err != nil {
			return err
		}
	}
	return nil
}
