package pebble

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/storage"
)

// iterator implements storage.Iterator by one of Pebble's.
type iterator struct {
	engine *Engine
	source source
	// owner is the transaction that takes the source back at Close; nil where there is none.
	owner *txn
}

// source is an iterator of Pebble with the pin that keeps Pebble open.
type source struct {
	*pebble.Iterator
	pin pin
	// state is the number of the engine's state that the iterator sees, or an older one.
	state uint64
}

// close ends a source.
func (s source) close(e *Engine) error {
	err := s.Iterator.Close()
	e.pins.release(s.pin)
	return e.wrap(err)
}

// iterable is what Pebble iterates over.
type iterable interface {
	NewIter(o *pebble.IterOptions) (*pebble.Iterator, error)
}

// newSource opens an iterator; the pin goes with it. Pebble copies the bounds.
func (e *Engine) newSource(from iterable, lower, upper []byte, p pin) (source, error) {
	state := e.state.Load()
	inner, err := from.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper, UseL6Filters: true})
	if err != nil {
		e.pins.release(p)
		return source{}, e.wrap(err)
	}
	return source{Iterator: inner, pin: p, state: state}, nil
}

// First implements storage.Iterator.
func (it *iterator) First() bool { return it.source.First() }

// Last implements storage.Iterator.
func (it *iterator) Last() bool { return it.source.Last() }

// SeekGE implements storage.Iterator.
func (it *iterator) SeekGE(key []byte) bool { return it.source.SeekGE(key) }

// SeekLT implements storage.Iterator.
func (it *iterator) SeekLT(key []byte) bool { return it.source.SeekLT(key) }

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

// SetBounds implements storage.Iterator.
func (it *iterator) SetBounds(lower, upper []byte) { it.source.SetBounds(lower, upper) }

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
