package pebble

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/storage"
)

// iterator implements storage.Iterator by one of Pebble's.
type iterator struct {
	engine *Engine
	inner  *pebble.Iterator
	pin    pin
}

// iterable is what Pebble iterates over.
type iterable interface {
	NewIter(o *pebble.IterOptions) (*pebble.Iterator, error)
}

// newIterator opens an iterator; the pin goes with it. Pebble copies the bounds.
func (e *Engine) newIterator(from iterable, lower, upper []byte, p pin) (*iterator, error) {
	inner, err := from.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		e.pins.release(p)
		return nil, e.wrap(err)
	}
	return &iterator{engine: e, inner: inner, pin: p}, nil
}

// First implements storage.Iterator.
func (it *iterator) First() bool { return it.inner.First() }

// Last implements storage.Iterator.
func (it *iterator) Last() bool { return it.inner.Last() }

// SeekGE implements storage.Iterator.
func (it *iterator) SeekGE(key []byte) bool { return it.inner.SeekGE(key) }

// SeekLT implements storage.Iterator.
func (it *iterator) SeekLT(key []byte) bool { return it.inner.SeekLT(key) }

// Next implements storage.Iterator.
func (it *iterator) Next() bool { return it.inner.Next() }

// Prev implements storage.Iterator.
func (it *iterator) Prev() bool { return it.inner.Prev() }

// Key implements storage.Iterator.
func (it *iterator) Key() []byte { return it.inner.Key() }

// Value implements storage.Iterator.
func (it *iterator) Value() ([]byte, error) {
	value, err := it.inner.ValueAndErr()
	return value, it.engine.wrap(err)
}

// SetBounds implements storage.Iterator.
func (it *iterator) SetBounds(lower, upper []byte) { it.inner.SetBounds(lower, upper) }

// Err implements storage.Iterator.
func (it *iterator) Err() error { return it.engine.wrap(it.inner.Error()) }

// Close implements storage.Iterator.
func (it *iterator) Close() error {
	if it.inner == nil {
		return nil
	}
	err := it.inner.Close()
	it.inner = nil
	it.engine.pins.release(it.pin)
	return it.engine.wrap(err)
}

var _ storage.Iterator = (*iterator)(nil)
