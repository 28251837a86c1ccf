package window

import (
	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// accumulated is the state of an accumulator in a window that begins with the partition. No
// document leaves such a window.
type accumulated struct{ acc accumulator.Accumulator }

func (a *accumulated) add(e entry) error            { return a.acc.Add(e.value) }
func (a *accumulated) remove(entry) error           { return nil }
func (a *accumulated) result() (bsonx.Value, error) { return finished(a.acc) }
func (a *accumulated) bytes() int                   { return a.acc.Bytes() }

// finished finishes an accumulator and returns its result.
func finished(acc accumulator.Accumulator) (bsonx.Value, error) {
	if err := accumulator.Finish(acc, true); err != nil {
		return bsonx.Missing, err
	}
	return acc.Result(), nil
}

// slide returns the state of an accumulator in a window that documents leave.
func (d *definition) slide(acc *accumulator.Accumulation, running *interrupt.Running) state {
	if d.Slide != nil {
		return d.Slide(acc, running)
	}
	return &recomputed{make: acc, running: running}
}

// valueQueue is a queue of the operand values in a window.
type valueQueue struct{ values []bsonx.Value }

func (w *valueQueue) add(e entry) error { w.values = append(w.values, e.value); return nil }

func (w *valueQueue) remove(entry) error {
	w.values[0] = bsonx.Missing
	w.values = w.values[1:]
	return nil
}

// bytes counts only the slice. The window counts the values themselves.
func (w *valueQueue) bytes() int { return 32 * len(w.values) }

// recomputed runs the accumulator over the whole window again for each document.
type recomputed struct {
	valueQueue
	make    *accumulator.Accumulation
	ctx     expr.Context
	running *interrupt.Running
	meter   interrupt.Meter
}

func (r *recomputed) result() (bsonx.Value, error) {
	acc, err := r.make.New(&r.ctx, bsonx.Missing)
	if err != nil {
		return bsonx.Missing, err
	}
	for _, v := range r.values {
		if err := acc.Add(v); err != nil {
			return bsonx.Missing, err
		}
		if err := r.meter.Did(accumulateWork+len(v.Data), r.running); err != nil {
			return bsonx.Missing, err
		}
	}
	return finished(acc)
}
