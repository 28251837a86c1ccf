package window

import (
	"context"
	"encoding/binary"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// entry contains the values of one document in a window: the operand of the function and, if
// needed, the sort value.
type entry struct{ value, key bsonx.Value }

// state computes a function over the entries in a window. Entries are added and removed in document
// order.
type state interface {
	add(e entry) error
	remove(e entry) error // removes the oldest entry
	result() (bsonx.Value, error)
	// bytes estimates the memory that the state uses, in bytes.
	bytes() int
}

// slidingFunction returns a function over the window bounds with the operand arg. key is the
// expression for the sort value. It is nil if the function does not use it.
func slidingFunction(bounds frame, arg, key expr.Expr, order *Order,
	open func(*expr.Context) (state, error),
) *Function {
	if bounds.byRange {
		key = order.By
	}
	reads := []expr.Expr{arg}
	if key != nil {
		reads = append(reads, key)
	}
	keeps := !bounds.lower.unbounded || bounds.byRange || bounds.upper.offset < 0
	return &Function{
		Streams: bounds.lower.unbounded && !bounds.upper.unbounded && !bounds.byRange && bounds.upper.offset == 0,
		Reads:   reads,
		Open: func(ctx *expr.Context) (Exec, error) {
			state, err := open(ctx)
			return &slidingExec{bounds: bounds, arg: arg, key: key, state: state, keeps: keeps}, err
		},
	}
}

// slidingExec moves a window over a partition. It reads documents up to the end of the window, and
// at least up to the current document. It keeps their entries in a queue until they have left the
// window.
type slidingExec struct {
	bounds   frame
	arg, key expr.Expr
	state    state

	queue   []entry // the entries of the documents with indexes from first to fetched-1
	keeps   bool    // entries can outlive their documents in memory, so they are copied
	chunk   []byte  // the memory for copied values
	first   int
	added   int // the index of the next document to enter the window
	fetched int // the index of the next document to read
	done    bool
	result  bsonx.Value // the result, if the window is the whole partition

	// ends is true if the function is $first or $last. The function then fails only if the operand
	// failed for the document whose value is the result.
	ends     bool
	failures []error // the errors that failure has stored
}

// failure stores err and returns a placeholder for the value of the expression that failed.
func (x *slidingExec) failure(err error) bsonx.Value {
	x.failures = append(x.failures, err)
	return bsonx.Value{Type: bsonx.TypeMissing, Data: binary.LittleEndian.AppendUint32(nil, uint32(len(x.failures)-1))}
}

// failed returns the error for which v is a placeholder, or nil.
func (x *slidingExec) failed(v bsonx.Value) error {
	if !v.IsMissing() || len(v.Data) == 0 {
		return nil
	}
	return x.failures[binary.LittleEndian.Uint32(v.Data)]
}

// endsOnly marks the function as $first or $last. The function then fails only if the operand
// failed for the document whose value is the result.
func (f *Function) endsOnly() *Function {
	open := f.Open
	f.Open = func(ctx *expr.Context) (Exec, error) {
		exec, err := open(ctx)
		if x, ok := exec.(*slidingExec); ok {
			x.ends = true
		}
		return exec, err
	}
	return f
}

// entryBytes estimates the memory of an entry in bytes, without its values.
const entryBytes = 64

func (x *slidingExec) Value(ctx context.Context, p Partition, i int) (bsonx.Value, error) {
	if x.done {
		return x.result, nil
	}
	lower, upper, err := x.window(ctx, p, i)
	if err != nil {
		return bsonx.Missing, err
	}
	before := x.state.bytes()
	if err := x.move(p, lower, upper); err != nil {
		return bsonx.Missing, err
	}
	if err := p.Grow(x.state.bytes() - before); err != nil {
		return bsonx.Missing, err
	}
	v, err := x.state.result()
	if err == nil {
		err = x.failed(v)
	}
	// A range must check the sort value of each document, even if it covers the whole partition.
	if x.bounds.whole() && !x.bounds.byRange {
		x.done, x.result = true, v
	}
	return v, err
}

// accumulateWork is the work of adding or removing a value, in the units of interrupt.Meter.
const accumulateWork = 4 * interrupt.Step

// move changes the window to the documents from lower to upper. It adds new documents before it
// removes old ones, like MongoDB, because the order affects the last digits of sums.
func (x *slidingExec) move(p Partition, lower, upper int) error {
	came := x.added
	for x.added = max(x.added, lower); x.added <= upper; {
		err := x.state.add(x.queue[x.added-x.first])
		x.added++
		if err == nil {
			err = p.Did(accumulateWork)
		}
		if err != nil {
			return err
		}
		if x.bounds.lower.unbounded {
			x.pop(p)
		}
	}
	return x.leave(p, lower, came)
}

// leave drops the documents before lower. It removes them from the state, except for those with an
// index of at least came: the window skipped them.
func (x *slidingExec) leave(p Partition, lower, came int) error {
	for ; x.first < lower && len(x.queue) > 0; x.pop(p) {
		if x.first < came {
			err := x.state.remove(x.queue[0])
			if err == nil {
				err = p.Did(accumulateWork)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *slidingExec) pop(p Partition) {
	e := &x.queue[0]
	p.Shrink(entryBytes + len(e.value.Data) + len(e.key.Data))
	*e = entry{}
	if len(x.queue) == 1 {
		x.queue = x.queue[:0]
	} else {
		x.queue = x.queue[1:]
	}
	x.first++
}

// fetch reads the partition up to document i, and reports whether that document exists.
func (x *slidingExec) fetch(ctx context.Context, p Partition, i int) (bool, error) {
	for x.fetched <= i {
		ok, err := p.Has(ctx, x.fetched)
		if !ok || err != nil {
			return false, err
		}
		var e entry
		// Like MongoDB, the first sort value is checked before the operand is evaluated.
		if x.bounds.byRange && x.fetched == 0 {
			if e.key, err = p.Eval(x.key, 0); err == nil {
				err = x.bounds.check(e.key)
			}
			if err != nil {
				return false, err
			}
		}
		if e.value, err = p.Eval(x.arg, x.fetched); err != nil {
			if !x.ends {
				return false, err
			}
			e.value = x.failure(err)
		}
		if x.key != nil {
			if e.key, err = p.Eval(x.key, x.fetched); err != nil {
				return false, err
			}
		}
		if x.keeps {
			if err := p.Reserve(len(e.value.Data) + len(e.key.Data)); err != nil {
				return false, err
			}
			x.copy(&e.value)
			x.copy(&e.key)
		}
		x.queue = append(x.queue, e)
		x.fetched++
		if err := p.Grow(entryBytes + len(e.value.Data) + len(e.key.Data)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// copy moves the value to memory of this slidingExec, so that the document can be freed.
func (x *slidingExec) copy(v *bsonx.Value) {
	if cap(x.chunk)-len(x.chunk) < len(v.Data) {
		x.chunk = make([]byte, 0, max(min(2*cap(x.chunk), maxValueChunk), minValueChunk, len(v.Data)))
	}
	at := len(x.chunk)
	x.chunk = append(x.chunk, v.Data...)
	v.Data = x.chunk[at:len(x.chunk):len(x.chunk)]
}

// Values are copied into chunks of memory. The first chunk is small, because many partitions are
// small.
const (
	minValueChunk = 128
	maxValueChunk = 16 << 10
)

// window returns the indexes of the first and last document in the window of document i. These
// documents have been read.
func (x *slidingExec) window(ctx context.Context, p Partition, i int) (lower, upper int, err error) {
	if _, err := x.fetch(ctx, p, i); err != nil {
		return 0, 0, err
	}
	if x.bounds.byRange {
		return x.rangeWindow(ctx, p, i)
	}
	lower, upper = x.first, i+x.bounds.upper.offset
	if !x.bounds.lower.unbounded {
		lower = max(lower, i+x.bounds.lower.offset)
	}
	if x.bounds.upper.unbounded {
		for upper = x.fetched; ; upper++ {
			if ok, err := x.fetch(ctx, p, upper); !ok || err != nil {
				return lower, x.fetched - 1, err
			}
		}
	}
	_, err = x.fetch(ctx, p, upper)
	return lower, min(upper, x.fetched-1), err
}

func (x *slidingExec) rangeWindow(ctx context.Context, p Partition, i int) (lower, upper int, err error) {
	base, err := p.Eval(x.key, i)
	if err != nil {
		return 0, 0, err
	}
	if err := x.bounds.check(base); err != nil {
		return 0, 0, err
	}
	lower, upper = x.first, x.added-1
	switch {
	case x.bounds.lower.current:
		lower = i
	case !x.bounds.lower.unbounded:
		from, err := x.bounds.at(x.bounds.lower, base)
		if err != nil {
			return 0, 0, err
		}
		for ; ; lower++ {
			ok, err := x.fetch(ctx, p, lower)
			if err != nil {
				return 0, 0, err
			}
			if !ok || bsonx.CompareValues(x.queue[lower-x.first].key, from) >= 0 {
				break
			}
		}
	}
	upper = max(upper, lower-1)
	if x.bounds.upper.current {
		return lower, i, nil
	}
	to := bsonx.MaxKey
	if !x.bounds.upper.unbounded {
		if to, err = x.bounds.at(x.bounds.upper, base); err != nil {
			return 0, 0, err
		}
	}
	for ; ; upper++ {
		ok, err := x.fetch(ctx, p, upper+1)
		if err != nil || !ok || bsonx.CompareValues(x.queue[upper+1-x.first].key, to) > 0 {
			return lower, upper, err
		}
	}
}

func (e entry) clone() entry { return entry{e.value.Clone(), e.key.Clone()} }
