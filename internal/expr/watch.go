package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Functions of operators that take long for large operands. They check for interrupts with running.

type (
	// Watching1 computes an operator of one operand and checks for interrupts.
	Watching1 func(v bsonx.Value, running *interrupt.Running) (bsonx.Value, error)
	// Watching2 computes an operator of two operands and checks for interrupts.
	Watching2 func(a, b bsonx.Value, running *interrupt.Running) (bsonx.Value, error)
	// WatchingN computes an operator of several operands and checks for interrupts.
	WatchingN func(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error)
)

// Watch1 is Op1 for a function that checks for interrupts.
func Watch1(fn Watching1) ParseFunc {
	return make1(func(vars *Vars) Func1 {
		running := vars.Scripts().Running
		return Plain1(func(v bsonx.Value) (bsonx.Value, error) { return fn(v, running) })
	})
}

// Watch2 is Op2 for a function that checks for interrupts.
func Watch2(fn Watching2) ParseFunc {
	return Collate2(func(*collation.Collator) Watching2 { return fn })
}

// Collate2 is Watch2 for a function that compares with the collation of the scope.
func Collate2(collated func(c *collation.Collator) Watching2) ParseFunc {
	return make2(func(vars *Vars) Func2 {
		fn, running := collated(vars.Collation()), vars.Scripts().Running
		return plain2(func(a, b bsonx.Value) (bsonx.Value, error) { return fn(a, b, running) })
	})
}

// WatchN is OpN for a function that checks for interrupts.
func WatchN(fn WatchingN) ParseFunc {
	return CollateN(func(*collation.Collator) WatchingN { return fn })
}

// CollateN is WatchN for a function that compares with the collation of the scope.
func CollateN(collated func(c *collation.Collator) WatchingN) ParseFunc {
	return makeN(func(vars *Vars, running *interrupt.Running) FuncN {
		fn := collated(vars.Collation())
		return PlainN(func(args []bsonx.Value) (bsonx.Value, error) { return fn(args, running) })
	})
}

// WatchNamed is OpNamed for a function that checks for interrupts.
func WatchNamed(named Named, fn WatchingN) ParseFunc {
	return makeNamed(named, func(vars *Vars) FuncN {
		running := vars.Scripts().Running
		return PlainN(func(args []bsonx.Value) (bsonx.Value, error) { return fn(args, running) })
	})
}

// AppendElements appends the elements of an array to dst. It fails if the operation was
// interrupted.
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

// Elements returns the elements of an array. It fails if the operation was interrupted.
func Elements(array bsonx.Doc, running *interrupt.Running) ([]bsonx.Value, error) {
	return AppendElements(make([]bsonx.Value, 0, array.Len()), array, running)
}

// ListOf returns an array of the values. It fails if the operation was interrupted.
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

// Task checks for an interrupt of the operation in functions that cannot return an error
// themselves. It keeps the error after an interrupt. A nil Task never ends.
type Task struct {
	ctx     *Context
	running *interrupt.Running // signals interrupts of the operation; nil never does
	ended   error
}

// Converting returns the Task of a type conversion. It reuses memory of c, because nothing else is
// evaluated during a conversion.
func (c *Context) Converting(running *interrupt.Running) *Task {
	c.task = Task{ctx: c, running: running}
	return &c.task
}

// Stopped adds work to the work of the Context, and reports whether the operation was interrupted.
// Loops must end then.
func (t *Task) Stopped(work int) bool {
	if t == nil {
		return false
	}
	if t.ended == nil {
		t.ended = t.ctx.Read(work, t.running)
	}
	return t.ended != nil
}

// Err returns the error of the interrupt, or nil.
func (t *Task) Err() error {
	if t == nil {
		return nil
	}
	return t.ended
}

// SubArray returns the array elements from position from up to, but not including, position to.
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
