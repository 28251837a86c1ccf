package pebble

import (
	"bytes"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/storage"
)

// iterator implements storage.Iterator with an iterator of Pebble.
type iterator struct {
	engine *Engine
	source source
	// owner is the transaction that takes the source back at Close, or nil.
	owner *txn
	// lower and upper are copies of the bounds. Short bounds are stored in the struct itself, so
	// code that copies an iterator must call keepBounds on the copy.
	lower, upper []byte
	room         [64]byte
}

// source is an iterator of Pebble with the pin that keeps Pebble open.
type source struct {
	*pebble.Iterator
	pin pin
	// state is the number of the engine state that the iterator sees, or a smaller number.
	state uint64
}

// close closes a source and releases its pin.
func (s source) close(e *Engine) error {
	err := s.Iterator.Close()
	e.pins.release(s.pin)
	return e.wrap(err)
}

// iterable is the part of Pebble that makes iterators.
type iterable interface {
	NewIter(o *pebble.IterOptions) (*pebble.Iterator, error)
}

// newSource opens an iterator of a view taken at a state. The pin is released with the iterator.
// Pebble copies the bounds.
func (e *Engine) newSource(from iterable, state uint64, lower, upper []byte, p pin) (source, error) {
	inner, err := from.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper, UseL6Filters: true})
	if err != nil {
		e.pins.release(p)
		return source{}, e.wrap(err)
	}
	return source{Iterator: inner, pin: p, state: state}, nil
}

// keepBounds copies the bounds.
func (it *iterator) keepBounds(lower, upper []byte) {
	n := len(lower)
	bounds := append(append(it.room[:0], lower...), upper...)
	it.lower, it.upper = nil, nil
	if lower != nil {
		it.lower = bounds[:n:n]
	}
	if upper != nil {
		it.upper = bounds[n:]
	}
}

// First implements storage.Iterator.
func (it *iterator) First() bool {
	if it.lower == nil {
		return it.source.First()
	}
	return it.SeekGE(it.lower)
}

// Last implements storage.Iterator.
func (it *iterator) Last() bool {
	if it.upper == nil {
		return it.source.Last()
	}
	return it.SeekLT(it.upper)
}

// SeekGE implements storage.Iterator.
func (it *iterator) SeekGE(key []byte) bool {
	if it.lower != nil && bytes.Compare(key, it.lower) < 0 {
		key = it.lower
	}
	before := it.steps()
	at, leaps, ok := it.seekGE(key)
	if it.steps()-before+leaps*leapWork < surveyAfter {
		return ok
	}
	to := it.upper
	if ok {
		to = it.Key()
	}
	// If Pebble's last seek began at the key that it found, it only stepped over old versions of
	// this key. Then there is no gap to survey.
	if leaps > 0 || bytes.Compare(at, to) < 0 {
		it.engine.gaps.survey(key, to)
	}
	return ok
}

// seekGE moves to the first key >= key, and leaps over the gaps on the way. It returns the key at
// which Pebble's last seek began, and the number of leaps.
func (it *iterator) seekGE(key []byte) (at []byte, leaps int, ok bool) {
	g := &it.engine.gaps
	for ; g.active.Load() > 0; leaps++ {
		start, limit := g.ahead(key, it.source.state)
		key = start
		if limit == nil || it.upper != nil && bytes.Compare(limit, it.upper) >= 0 {
			break
		}
		if state := it.source.SeekGEWithLimit(key, limit); state != pebble.IterAtLimit {
			return key, leaps, state == pebble.IterValid
		}
		key = limit
	}
	return key, leaps, it.source.SeekGE(key)
}

// SeekLT implements storage.Iterator.
func (it *iterator) SeekLT(key []byte) bool {
	if it.upper != nil && bytes.Compare(key, it.upper) > 0 {
		key = it.upper
	}
	before := it.steps()
	at, leaps, ok := it.seekLT(key)
	if it.steps()-before+leaps*leapWork < surveyAfter {
		return ok
	}
	from := it.lower
	if ok {
		from = append(bytes.Clone(it.Key()), 0)
	}
	if from != nil && (leaps > 0 || bytes.Compare(from, at) < 0) {
		it.engine.gaps.survey(from, key)
	}
	return ok
}

// seekLT moves to the last key < key, and leaps over the gaps on the way. It returns the key at
// which Pebble's last seek began, and the number of leaps.
func (it *iterator) seekLT(key []byte) (at []byte, leaps int, ok bool) {
	g := &it.engine.gaps
	for ; g.active.Load() > 0; leaps++ {
		start, limit := g.behind(key, it.source.state)
		key = start
		if limit == nil || it.lower != nil && bytes.Compare(limit, it.lower) <= 0 {
			break
		}
		if state := it.source.SeekLTWithLimit(key, limit); state != pebble.IterAtLimit {
			return key, leaps, state == pebble.IterValid
		}
		key = limit
	}
	return key, leaps, it.source.SeekLT(key)
}

// steps returns how many keys Pebble has stepped over, including deleted keys and old versions.
func (it *iterator) steps() int {
	stats := it.source.Stats()
	return stats.ForwardStepCount[pebble.InternalIterCall] + stats.ReverseStepCount[pebble.InternalIterCall]
}

// Next implements storage.Iterator.
func (it *iterator) Next() bool { return it.source.Next() }

// Prev implements storage.Iterator.
func (it *iterator) Prev() bool { return it.source.Prev() }

// Key implements storage.Iterator.
func (it *iterator) Key() []byte { return it.source.Key() }

// Value implements storage.Iterator.
func (it *iterator) Value() ([]byte, error) {
	value, err := it.source.ValueAndErr()
	return value, it.engine.wrap(err)
}

// Err implements storage.Iterator.
func (it *iterator) Err() error { return it.engine.wrap(it.source.Error()) }

// Close implements storage.Iterator.
func (it *iterator) Close() error {
	if it.source.Iterator == nil {
		return nil
	}
	s := it.source
	it.source.Iterator = nil
	if it.owner != nil && it.owner.keep(s) {
		return nil
	}
	return s.close(it.engine)
}

var _ storage.Iterator = (*iterator)(nil)

// surveyed implements gaps.look.
func (e *Engine) surveyed(r keyRange) (to []byte, state uint64) {
	to, err := e.firstKey(r)
	if err != nil {
		// The next read of the range reports the error.
		to = nil
	}
	return to, e.state.Add(1)
}

// firstKey returns the first key in a range, or the end of the range if it has no key.
func (e *Engine) firstKey(r keyRange) ([]byte, error) {
	p, ok := e.pins.acquire()
	if !ok {
		return nil, nil
	}
	from, err := e.newSource(e.db, e.state.Load(), r.start, r.end, p)
	if err != nil {
		return nil, err
	}
	it := iterator{engine: e, source: from, lower: r.start, upper: r.end}
	to := r.end
	if _, _, ok := it.seekGE(r.start); ok {
		to = bytes.Clone(it.Key())
	}
	return to, errors.Join(it.Err(), it.Close())
}
