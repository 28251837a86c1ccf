package interrupt

import "context"

const (
	// Interval is the amount of work between two checks of the operation.
	Interval = 1 << 18
	// Step is the work of one loop step, in addition to the bytes that it copies.
	Step = 64
	// Document is the work of a stage for one document, in addition to the bytes that it reads.
	Document = 4 * Step
)

// Meter counts work. The zero Meter is ready to use. A Meter belongs to one goroutine.
type Meter struct{ work int }

// Did counts work. Once per Interval it checks the operation, and returns the reason if the
// operation has ended.
func (m *Meter) Did(work int, r *Running) error {
	if m.work += work; m.work < Interval {
		return nil
	}
	m.work = 0
	return r.Err()
}

// Passed is Did for code that has the context of its operation.
func (m *Meter) Passed(ctx context.Context, work int) error {
	if m.work += work; m.work < Interval {
		return nil
	}
	m.work = 0
	return Cause(ctx)
}
