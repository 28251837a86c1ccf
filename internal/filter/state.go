package filter

import (
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Details tell how a document matched.
type Details struct {
	// ArrayIndex is the index of the element that the last predicate went through in the outermost
	// array of its path; HasIndex is false if no array was traversed.
	ArrayIndex int
	HasIndex   bool
}

func (d *Details) set(index int) { d.ArrayIndex, d.HasIndex = index, true }

// Reset forgets the index.
func (d *Details) Reset() { *d = Details{} }

// state is what one evaluation carries along. It is nil where neither details nor expressions are
// needed.
type state struct {
	details *Details
	ctx     expr.Context
	err     error
	meter   interrupt.Meter
	running *interrupt.Running
}

// operation returns what the evaluation serves.
func (st *state) operation() *interrupt.Running {
	if st == nil {
		return nil
	}
	return st.running
}

// stopped counts work, and reports whether the evaluation has failed or its operation has ended.
func (st *state) stopped(work int) bool {
	if st == nil {
		return false
	}
	if st.err == nil {
		st.err = st.meter.Did(work, st.running)
	}
	return st.err != nil
}

// ended notes why a comparison was given up; nil is none.
func (st *state) ended(err error) {
	if err != nil && st != nil && st.err == nil {
		st.err = err
	}
}

func (st *state) record(index int) {
	if st != nil && st.details != nil && index >= 0 {
		st.details.set(index)
	}
}

// silence stops the recording of details and returns what to restore.
func (st *state) silence() *Details {
	if st == nil {
		return nil
	}
	d := st.details
	st.details = nil
	return d
}

func (st *state) restore(d *Details) {
	if st != nil {
		st.details = d
	}
}

// fail keeps the first error of an evaluation; its result is false, whatever the nodes above make
// of it.
func (st *state) fail(err error) bool {
	if st.err == nil {
		st.err = err
	}
	return false
}
