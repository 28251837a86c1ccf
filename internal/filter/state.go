package filter

import (
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Details tells how a document matched.
type Details struct {
	// ArrayIndex is the index of the element through which the last predicate matched, in the
	// outermost array on its path. HasIndex is false if there was no array.
	ArrayIndex int
	HasIndex   bool
}

func (d *Details) set(index int) { d.ArrayIndex, d.HasIndex = index, true }

// Reset clears the index.
func (d *Details) Reset() { *d = Details{} }

// state is the state of one evaluation. It may be nil if neither details nor errors are possible.
type state struct {
	details *Details
	ctx     expr.Context
	err     error
	meter   interrupt.Meter
	running *interrupt.Running
}

// operation returns the operation of the evaluation, or nil.
func (st *state) operation() *interrupt.Running {
	if st == nil {
		return nil
	}
	return st.running
}

// stopped adds work to the meter, and reports whether the evaluation has failed or was interrupted.
func (st *state) stopped(work int) bool {
	if st == nil {
		return false
	}
	if st.err == nil {
		st.err = st.meter.Did(work, st.running)
	}
	return st.err != nil
}

// ended records the error of a comparison that stopped early. err may be nil.
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

// silence stops the recording of details. It returns the argument for restore.
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

// fail records the first error of an evaluation, and returns false. After an error the result of
// the evaluation is not valid.
func (st *state) fail(err error) bool {
	if st.err == nil {
		st.err = err
	}
	return false
}
