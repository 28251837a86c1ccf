package mem

import (
	"bytes"

	"github.com/tidwall/btree"
)

// iterator implements storage.Iterator over an unchanging tree.
type iterator struct {
	iter         btree.IterG[item]
	lower, upper []byte
	// valid means that the iterator is at a key. Otherwise place is its position.
	valid bool
	place place
}

// place is the position of an iterator that is not at a key.
type place uint8

const (
	unpositioned place = iota
	beforeFirst
	afterLast
)

func newIterator(t *tree, lower, upper []byte) *iterator {
	it := &iterator{iter: t.Iter()}
	it.setBounds(lower, upper)
	return it
}

// settle ends a move. at says whether the tree's iterator is at a key. beyond is the place of the
// iterator if the move left the bounds.
func (it *iterator) settle(at bool, beyond place) bool {
	it.valid, it.place = false, beyond
	if !at {
		return false
	}
	key := it.iter.Item().key
	if it.lower != nil && bytes.Compare(key, it.lower) < 0 || it.upper != nil && bytes.Compare(key, it.upper) >= 0 {
		return false
	}
	it.valid = true
	return true
}

// First implements storage.Iterator.
func (it *iterator) First() bool {
	if it.lower == nil {
		return it.settle(it.iter.First(), afterLast)
	}
	return it.settle(it.iter.Seek(item{key: it.lower}), afterLast)
}

// Last implements storage.Iterator.
func (it *iterator) Last() bool {
	if it.upper == nil {
		return it.settle(it.iter.Last(), beforeFirst)
	}
	return it.settle(it.before(it.upper), beforeFirst)
}

// before moves the tree's iterator to the last key < key.
func (it *iterator) before(key []byte) bool {
	if it.iter.Seek(item{key: key}) {
		return it.iter.Prev()
	}
	return it.iter.Last()
}

// SeekGE implements storage.Iterator.
func (it *iterator) SeekGE(key []byte) bool {
	if it.lower != nil && bytes.Compare(key, it.lower) < 0 {
		key = it.lower
	}
	return it.settle(it.iter.Seek(item{key: key}), afterLast)
}

// SeekLT implements storage.Iterator.
func (it *iterator) SeekLT(key []byte) bool {
	if it.upper != nil && bytes.Compare(key, it.upper) > 0 {
		key = it.upper
	}
	return it.settle(it.before(key), beforeFirst)
}

// Next implements storage.Iterator.
func (it *iterator) Next() bool {
	switch {
	case it.valid:
		return it.settle(it.iter.Next(), afterLast)
	case it.place == afterLast:
		return false
	default:
		return it.First()
	}
}

// Prev implements storage.Iterator.
func (it *iterator) Prev() bool {
	switch {
	case it.valid:
		return it.settle(it.iter.Prev(), beforeFirst)
	case it.place == beforeFirst:
		return false
	default:
		return it.Last()
	}
}

// Key implements storage.Iterator.
func (it *iterator) Key() []byte {
	if !it.valid {
		return nil
	}
	return it.iter.Item().key
}

// Value implements storage.Iterator.
func (it *iterator) Value() ([]byte, error) {
	if !it.valid {
		return nil, nil
	}
	return it.iter.Item().value, nil
}

// setBounds sets the bounds and unpositions the iterator.
func (it *iterator) setBounds(lower, upper []byte) {
	it.lower, it.upper = bytes.Clone(lower), bytes.Clone(upper)
	it.valid, it.place = false, unpositioned
}

// Err implements storage.Iterator. Reading memory cannot fail.
func (it *iterator) Err() error { return nil }

// Close implements storage.Iterator.
func (it *iterator) Close() error {
	it.iter.Release()
	it.valid = false
	return nil
}
