package exec

import (
	"cmp"

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
}

// itemSize is what an item takes beside its bytes.
const itemSize = 128

func (i *nearItem) size() int { return itemSize + len(i.record) + len(i.doc) + len(i.place.Data) }

// nearQueue is a heap.
type nearQueue []nearItem

// Len implements heap.Interface.
func (q nearQueue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q nearQueue) Less(i, j int) bool {
	a, b := &q[i], &q[j]
	if a.distance != b.distance {
		return a.distance < b.distance
	}
	if a.kind != b.kind {
		return a.kind < b.kind
	}
	return cmp.Less(a.order, b.order)
}

// Swap implements heap.Interface.
func (q nearQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *nearQueue) Push(x any) { *q = append(*q, x.(nearItem)) }

// Pop implements heap.Interface.
func (q *nearQueue) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = nearItem{}
	*q = old[:len(old)-1]
	return last
}
