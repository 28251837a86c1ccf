package pebble

import (
	"bytes"

	"github.com/tidwall/btree"

	"github.com/sheafdb/sheaf/internal/storage"
)

// ownItem is a write of a transaction, for a list in key order. Its slices point into the batch,
// whose bytes do not change. A nil value is a deletion.
type ownItem struct{ key, value []byte }

func (i ownItem) deleted() bool { return i.value == nil }

// overlay is the ordered form of a transaction's own writes, for its iterators.
type overlay struct {
	items *btree.BTreeG[ownItem]
	// upTo is the number of writes that are in items.
	upTo int
	// open counts the open iterators over items, including older versions of items.
	open int
}

func newOverlay() *overlay {
	less := func(a, b ownItem) bool { return bytes.Compare(a.key, b.key) < 0 }
	return &overlay{items: btree.NewBTreeGOptions(less, btree.Options{NoLocks: true, Degree: 16})}
}

// catchUp adds the writes since the last call. An iterator must see the state at its opening, so a
// tree with an open iterator is not changed but copied. Most often no iterator is open, as in the
// checks of unique indexes. There, copying the tree each time would cost more than the rest of the
// check.
func (o *overlay) catchUp(s *txnState) {
	if o.upTo == len(s.writes) {
		return
	}
	if o.open > 0 {
		o.items = o.items.Copy()
	}
	for _, w := range s.writes[o.upTo:] {
		item := ownItem{key: s.key(w)}
		if !w.deleted() {
			item.value = s.value(w)
		}
		o.items.Set(item)
	}
	o.upTo = len(s.writes)
}

// direction says where the two sides of a mergedIterator are, relative to its key.
type direction int8

const (
	_ direction = iota // nowhere
	// forward: each side is at its first key >= the current one, or beyond the end.
	forward
	// backward: each side is at its last key <= the current one, or before the start.
	backward
)

// mergedIterator implements storage.Iterator. It merges committed pairs with a transaction's own
// writes, which take precedence. It stays within the bounds of its base.
type mergedIterator struct {
	base          iterator
	over          *overlay
	own           btree.IterG[ownItem]
	baseOK, ownOK bool
	dir           direction
	valid, isOwn  bool
	turn          []byte
}

func newMergedIterator(base iterator, over *overlay, lower, upper []byte) *mergedIterator {
	over.open++
	it := &mergedIterator{base: base, over: over}
	it.base.keepBounds(lower, upper)
	it.own.Init(over.items, false)
	return it
}

// inBounds reports whether the key of the own side is within the bounds.
func (it *mergedIterator) inBounds(at bool) bool {
	if !at {
		return false
	}
	key := it.own.Item().key
	return (it.base.lower == nil || bytes.Compare(key, it.base.lower) >= 0) &&
		(it.base.upper == nil || bytes.Compare(key, it.base.upper) < 0)
}

// settle finds the current key: the nearer key of the two sides. If both have the same key, the own
// write wins. Keys that the transaction deleted are skipped.
func (it *mergedIterator) settle() bool {
	it.valid = false
	for it.baseOK || it.ownOK {
		order := it.order()
		if order > 0 {
			it.valid, it.isOwn = true, false
			return true
		}
		if !it.own.Item().deleted() {
			it.valid, it.isOwn = true, true
			return true
		}
		it.step(order == 0)
	}
	return false
}

// order compares the sides in the direction of the iterator. It returns < 0 if the own key comes
// first, and 0 if the keys are equal.
func (it *mergedIterator) order() int {
	switch {
	case !it.baseOK:
		return -1
	case !it.ownOK:
		return 1
	}
	order := bytes.Compare(it.own.Item().key, it.base.Key())
	if it.dir == backward {
		return -order
	}
	return order
}

// step moves the own side one key on, in the direction of the iterator. If both is set, it also
// moves the base.
func (it *mergedIterator) step(both bool) {
	if it.dir == forward {
		it.ownOK = it.inBounds(it.own.Next())
		if both {
			it.baseOK = it.base.Next()
		}
		return
	}
	it.ownOK = it.inBounds(it.own.Prev())
	if both {
		it.baseOK = it.base.Prev()
	}
}

// First implements storage.Iterator.
func (it *mergedIterator) First() bool {
	it.dir = forward
	it.baseOK = it.base.First()
	if it.base.lower == nil {
		it.ownOK = it.inBounds(it.own.First())
	} else {
		it.ownOK = it.inBounds(it.own.Seek(ownItem{key: it.base.lower}))
	}
	return it.settle()
}

// Last implements storage.Iterator.
func (it *mergedIterator) Last() bool {
	it.dir = backward
	it.baseOK = it.base.Last()
	if it.base.upper == nil {
		it.ownOK = it.inBounds(it.own.Last())
	} else {
		it.ownOK = it.inBounds(it.ownBefore(it.base.upper))
	}
	return it.settle()
}

// ownBefore moves the own side to its last key < key.
func (it *mergedIterator) ownBefore(key []byte) bool {
	if it.own.Seek(ownItem{key: key}) {
		return it.own.Prev()
	}
	return it.own.Last()
}

// SeekGE implements storage.Iterator.
func (it *mergedIterator) SeekGE(key []byte) bool {
	if it.base.lower != nil && bytes.Compare(key, it.base.lower) < 0 {
		key = it.base.lower
	}
	it.dir = forward
	it.baseOK = it.base.SeekGE(key)
	it.ownOK = it.inBounds(it.own.Seek(ownItem{key: key}))
	return it.settle()
}

// SeekLT implements storage.Iterator.
func (it *mergedIterator) SeekLT(key []byte) bool {
	if it.base.upper != nil && bytes.Compare(key, it.base.upper) > 0 {
		key = it.base.upper
	}
	it.dir = backward
	it.baseOK = it.base.SeekLT(key)
	it.ownOK = it.inBounds(it.ownBefore(key))
	return it.settle()
}

// Next implements storage.Iterator.
func (it *mergedIterator) Next() bool {
	switch {
	case !it.valid && it.dir == forward:
		return false
	case !it.valid:
		return it.First()
	case it.dir == backward:
		it.turn = append(it.turn[:0], it.Key()...)
		it.SeekGE(it.turn)
	}
	return it.advance()
}

// Prev implements storage.Iterator.
func (it *mergedIterator) Prev() bool {
	switch {
	case !it.valid && it.dir == backward:
		return false
	case !it.valid:
		return it.Last()
	case it.dir == forward:
		it.turn = append(it.turn[:0], it.Key()...)
		return it.SeekLT(it.turn)
	}
	return it.advance()
}

// advance moves past the current key in the direction of the iterator.
func (it *mergedIterator) advance() bool {
	switch {
	case it.isOwn:
		it.step(it.order() == 0)
	case it.dir == forward:
		it.baseOK = it.base.Next()
	default:
		it.baseOK = it.base.Prev()
	}
	return it.settle()
}

// Key implements storage.Iterator.
func (it *mergedIterator) Key() []byte {
	switch {
	case !it.valid:
		return nil
	case it.isOwn:
		return it.own.Item().key
	default:
		return it.base.Key()
	}
}

// Value implements storage.Iterator.
func (it *mergedIterator) Value() ([]byte, error) {
	switch {
	case !it.valid:
		return nil, nil
	case it.isOwn:
		return it.own.Item().value, nil
	default:
		return it.base.Value()
	}
}

// Err implements storage.Iterator.
func (it *mergedIterator) Err() error { return it.base.Err() }

// Close implements storage.Iterator.
func (it *mergedIterator) Close() error {
	it.valid = false
	if it.over != nil {
		it.own.Release()
		it.over.open--
		it.over = nil
	}
	return it.base.Close()
}

var _ storage.Iterator = (*mergedIterator)(nil)
