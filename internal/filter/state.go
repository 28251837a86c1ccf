package filter

import (
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Details say how a document matched.
type Details struct {
	// ArrayIndex is the index of the element, in the outermost array on its path, through which the
	// last predicate matched. HasIndex is false if there was no array.
	ArrayIndex int
	HasIndex   bool
}

func (d *Details) set(index int) { d.ArrayIndex, d.HasIndex = index, true }

// Reset clears the index.
func (d *Details) Reset() { *d = Details{} }

// state is the state of one evaluation. It is nil if neither details nor expressions are needed.
type state struct {
	details *Details
	ctx     expr.Context
	err     error
	meter   interrupt.Meter
	running *interrupt.Running
}

// operation returns the operation that the evaluation serves.
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

// ended records why a comparison stopped early. err may be nil.
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

// silence stops the recording of details, and returns the value for restoring it.
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

// fail keeps the first error of an evaluation, and returns false. After an error the result of the
// evaluation has no meaning.
func (st *state) fail(err error) bool {
	if st.err == nil {
		st.err = err
	}
	return false
}
