package exec

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/geo"
)

// nearKind is the kind of an item in the queue of a GeoNear. At the same distance, items that may
// expand to something nearer come first: cells, then records, then rows.
type nearKind uint8

const (
	nearCell nearKind = iota
	nearRecord
	nearRow
)

type nearItem struct {
	distance float64 // exact for a row; a lower bound for a cell or a record
	kind     nearKind
	order    int
	cell     geo.Cell    // only of nearCell
	record   []byte      // record key; of nearRecord and nearRow
	doc      bsonx.Doc   // only of nearRow
	place    bsonx.Value // only of nearRow
	again    bool        // the record was found and counted before
}

// itemSize estimates the memory of an item in bytes, without the slices that it refers to.
const itemSize = 128

func (i *nearItem) size() int { return itemSize + len(i.record) + len(i.doc) + len(i.place.Data) }

// nearQueue is a binary heap whose first element is the least item.
type nearQueue []nearItem

func (q nearQueue) less(i, j int) bool {
	a, b := &q[i], &q[j]
	if a.distance != b.distance {
		return a.distance < b.distance
	}
	if a.kind != b.kind {
		return a.kind < b.kind
	}
	return a.order < b.order
}

func (q *nearQueue) push(item nearItem) {
	*q = append(*q, item)
	h := *q
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (q *nearQueue) pop() nearItem {
	h := *q
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h[last] = nearItem{}
	h = h[:last]
	*q = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(h) {
			return first
		}
		if child+1 < len(h) && h.less(child+1, child) {
			child++
		}
		if !h.less(child, i) {
			return first
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
