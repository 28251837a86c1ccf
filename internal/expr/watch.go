package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// The functions here take long for large operands. They check whether the operation of their
// expression has ended.

type (
	watching1 func(v bsonx.Value, running *interrupt.Running) (bsonx.Value, error)
	watching2 func(a, b bsonx.Value, running *interrupt.Running) (bsonx.Value, error)
	WatchingN func(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error)
)

// watched calls set for each parsed call of an operator. set gives the call its function, which
// looks at the operation of the scope and compares by its collation.
func watched[C Expr](def Definition, set func(call C, vars *Vars)) Definition {
	parse := def.Parse
	def.Parse = func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
		e, err := parse(p, def, arg, vars)
		if call, ok := e.(C); ok {
			set(call, vars)
		}
		return e, err
	}
	return def
}

// watch1 is op1 for a function that looks at its operation.
func watch1(name, family string, fn watching1) Definition {
	return watched(make1(name, family, nil), func(call *call1, vars *Vars) {
		running := vars.Scripts().Running
		call.fn = plain1(func(v bsonx.Value) (bsonx.Value, error) { return fn(v, running) })
	})
}

// watch2 is op2 for a function that looks at its operation.
func watch2(name, family string, fn watching2) Definition {
	return collate2(name, family, func(*collation.Collator) watching2 { return fn })
}

// collate2 is watch2 for a function that compares by the collation of the scope.
func collate2(name, family string, collated func(c *collation.Collator) watching2) Definition {
	return watched(make2(name, family, nil), func(call *call2, vars *Vars) {
		fn, running := collated(vars.Collation()), vars.Scripts().Running
		call.fn = plain2(func(a, b bsonx.Value) (bsonx.Value, error) { return fn(a, b, running) })
	})
}

// watchN is opN for a function that looks at its operation.
func watchN(name, family string, minArgs, maxArgs int, fn WatchingN) Definition {
	return watchedN(makeN(name, family, minArgs, maxArgs, nil), fn)
}

// collateN is watchN for a function that compares by the collation of the scope.
func collateN(name, family string, minArgs, maxArgs int, collated func(c *collation.Collator) WatchingN) Definition {
	return collatedN(makeN(name, family, minArgs, maxArgs, nil), collated)
}

// watchAssociative is opAssociative for a function that looks at its operation. There is no
// operation while the expression is compiled and constant operands are combined.
func watchAssociative(name, family string, how association, fn WatchingN) Definition {
	return CollateAssociative(name, family, how, func(*collation.Collator) WatchingN { return fn })
}

// CollateAssociative is watchAssociative for a function that compares by the collation of the scope.
func CollateAssociative(name, family string, how association, collated func(c *collation.Collator) WatchingN) Definition {
	def := associative(name, family, how, func(vars *Vars) funcN {
		fn := collated(vars.Collation())
		return plainN(func(args []bsonx.Value) (bsonx.Value, error) { return fn(args, nil) })
	})
	return collatedN(def, collated)
}

// watchNamed is opNamed for a function that looks at its operation.
func watchNamed(name, family string, codes namedCodes, required int, names []string, fn WatchingN) Definition {
	return watchedN(opNamed(name, family, codes, required, names, nil), fn)
}

func watchedN(def Definition, fn WatchingN) Definition {
	return collatedN(def, func(*collation.Collator) WatchingN { return fn })
}

func collatedN(def Definition, collated func(c *collation.Collator) WatchingN) Definition {
	return watched(def, func(call *callN, vars *Vars) {
		fn, running := collated(vars.Collation()), vars.Scripts().Running
		call.fn = plainN(func(args []bsonx.Value) (bsonx.Value, error) { return fn(args, running) })
	})
}

// appendElements appends the elements of an array.
func appendElements(dst []bsonx.Value, array bsonx.Doc, running *interrupt.Running) ([]bsonx.Value, error) {
	var meter interrupt.Meter
	for it := array.Iter(); it.Next(); {
		if err := meter.Did(interrupt.Step, running); err != nil {
			return nil, err
		}
		dst = append(dst, it.Value())
	}
	return dst, nil
}

// Elements returns the elements of an array.
func Elements(array bsonx.Doc, running *interrupt.Running) ([]bsonx.Value, error) {
	return appendElements(make([]bsonx.Value, 0, array.Len()), array, running)
}

// ListOf makes an array of values.
func ListOf(values []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	var meter interrupt.Meter
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	for _, v := range values {
		if err := meter.Did(interrupt.Step+len(v.Data), running); err != nil {
			return bsonx.Missing, err
		}
		b.Elem(v)
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}

// task is the work of one evaluation. It counts what lies below the function that evaluates, and
// remembers why its operation ended. A nil task never ends.
type task struct {
	ctx     *Context
	running *interrupt.Running // the operation; nil never ends
	ended   error
}

// converting returns the task of a conversion, in which nothing else is evaluated: it needs no
// memory of its own.
func (c *Context) converting(running *interrupt.Running) *task {
	c.task = task{ctx: c, running: running}
	return &c.task
}

// stopped counts work and reports whether the operation has ended: loops end early then.
func (t *task) stopped(work int) bool {
	if t == nil {
		return false
	}
	if t.ended == nil {
		t.ended = t.ctx.Read(work, t.running)
	}
	return t.ended != nil
}

// err returns why the operation ended, nil while it may go on.
func (t *task) err() error {
	if t == nil {
		return nil
	}
	return t.ended
}
