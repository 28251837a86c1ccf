package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// The functions here take long for large operands. They check whether the operation of their
// expression has ended.

type (
	// Watching1 computes an operator of one operand, and looks at its operation.
	Watching1 func(v bsonx.Value, running *interrupt.Running) (bsonx.Value, error)
	// Watching2 computes an operator of two operands, and looks at its operation.
	Watching2 func(a, b bsonx.Value, running *interrupt.Running) (bsonx.Value, error)
	// WatchingN computes an operator of several operands, and looks at its operation.
	WatchingN func(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error)
)

// Watch1 is Op1 for a function that looks at its operation.
func Watch1(fn Watching1) ParseFunc {
	return make1(func(vars *Vars) Func1 {
		running := vars.Scripts().Running
		return Plain1(func(v bsonx.Value) (bsonx.Value, error) { return fn(v, running) })
	})
}

// Watch2 is Op2 for a function that looks at its operation.
func Watch2(fn Watching2) ParseFunc {
	return Collate2(func(*collation.Collator) Watching2 { return fn })
}

// Collate2 is Watch2 for a function that compares by the collation of the scope.
func Collate2(collated func(c *collation.Collator) Watching2) ParseFunc {
	return make2(func(vars *Vars) Func2 {
		fn, running := collated(vars.Collation()), vars.Scripts().Running
		return plain2(func(a, b bsonx.Value) (bsonx.Value, error) { return fn(a, b, running) })
	})
}

// WatchN is OpN for a function that looks at its operation.
func WatchN(fn WatchingN) ParseFunc {
	return CollateN(func(*collation.Collator) WatchingN { return fn })
}

// CollateN is WatchN for a function that compares by the collation of the scope.
func CollateN(collated func(c *collation.Collator) WatchingN) ParseFunc {
	return makeN(func(vars *Vars, running *interrupt.Running) FuncN {
		fn := collated(vars.Collation())
		return PlainN(func(args []bsonx.Value) (bsonx.Value, error) { return fn(args, running) })
	})
}

// WatchNamed is OpNamed for a function that looks at its operation.
func WatchNamed(named Named, fn WatchingN) ParseFunc {
	return makeNamed(named, func(vars *Vars) FuncN {
		running := vars.Scripts().Running
		return PlainN(func(args []bsonx.Value) (bsonx.Value, error) { return fn(args, running) })
	})
}

// AppendElements appends the elements of an array.
func AppendElements(dst []bsonx.Value, array bsonx.Doc, running *interrupt.Running) ([]bsonx.Value, error) {
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
	return AppendElements(make([]bsonx.Value, 0, array.Len()), array, running)
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

// Task is the work of one evaluation. It counts what lies below the function that evaluates, and
// remembers why its operation ended. A nil task never ends.
type Task struct {
	ctx     *Context
	running *interrupt.Running // the operation; nil never ends
	ended   error
}

// Converting returns the task of a conversion, in which nothing else is evaluated: it needs no
// memory of its own.
func (c *Context) Converting(running *interrupt.Running) *Task {
	c.task = Task{ctx: c, running: running}
	return &c.task
}

// Stopped counts work and reports whether the operation has ended: loops end early then.
func (t *Task) Stopped(work int) bool {
	if t == nil {
		return false
	}
	if t.ended == nil {
		t.ended = t.ctx.Read(work, t.running)
	}
	return t.ended != nil
}

// Err returns why the operation ended, nil while it may go on.
func (t *Task) Err() error {
	if t == nil {
		return nil
	}
	return t.ended
}

// SubArray returns the elements of an array from a position on, up to another one.
func SubArray(array bsonx.Doc, from, to int, running *interrupt.Running) (bsonx.Value, error) {
	var meter interrupt.Meter
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	i := 0
	for it := array.Iter(); i < to && it.Next(); i++ {
		if err := meter.Did(interrupt.Step+len(it.Value().Data), running); err != nil {
			return bsonx.Missing, err
		}
		if i >= from {
			b.Elem(it.Value())
		}
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}
