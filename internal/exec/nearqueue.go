package exec

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/geo"
)

// nearKind is what stands in the queue of a search by distance. At one distance what may hide something nearer comes first.
type nearKind uint8

const (
	nearCell nearKind = iota
	nearRecord
	nearRow
)

type nearItem struct {
	distance float64 // at least that, of a row exactly
	kind     nearKind
	order    int
	cell     geo.Cell    // of nearCell
	record   []byte      // the key; of the others
	doc      bsonx.Doc   // of nearRow
	place    bsonx.Value // of nearRow
	again    bool        // the record was found before
}

// itemSize is what an item takes beside its bytes.
const itemSize = 128

func (i *nearItem) size() int { return itemSize + len(i.record) + len(i.doc) + len(i.place.Data) }

// nearQueue is a heap: what comes first is at its beginning.
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
