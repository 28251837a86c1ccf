package exec

import (
	"bytes"
	"container/heap"
	"context"

	"github.com/sheafdb/sheaf/internal/table"
)

// SortMerge merges inputs, each of which is ordered by the sort key. If dedup is true, it yields
// each record once.
type SortMerge struct {
	base
	key   KeyFunc
	dedup bool

	heap    mergeHeap
	pending []*mergeInput // inputs whose next row is to be read
	given   *mergeInput   // the input of the row that was yielded last
	seen    seen
	again   heldRows
	row     Row // the row that was yielded last, if it was held
}

// mergeInput is an input with its next row.
type mergeInput struct {
	node  Node
	order int // position among the inputs, which decides between equal keys
	row   *Row
	key   []byte
	held  Row // copy of the row, made by Save
}

// NewSortMerge returns a merge of the inputs. dedup makes it yield each record once; it is needed
// if two inputs can yield the same record.
func NewSortMerge(env *Env, coll *table.Collection, inputs []Node, key KeyFunc, dedup bool) *SortMerge {
	n := &SortMerge{base: base{env: env, inputs: inputs}, key: key, dedup: dedup}
	n.again.records = recordReader{env: env, coll: coll}
	for i, in := range inputs {
		n.pending = append(n.pending, &mergeInput{node: in, order: i})
	}
	return n
}

// Next implements Node.
func (n *SortMerge) Next(ctx context.Context) (*Row, error) {
	for {
		if n.given != nil {
			n.pending = append(n.pending, n.given)
			n.given = nil
		}
		if err := n.fill(ctx); err != nil {
			return nil, err
		}
		if len(n.heap) == 0 {
			return n.end()
		}
		if err := n.env.step(ctx); err != nil {
			return nil, err
		}
		n.stats.Works++
		n.given = heap.Pop(&n.heap).(*mergeInput)
		row := n.given.row
		if row == &n.given.held {
			doc, ok, err := n.again.look(row)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			n.row = *row
			n.row.Doc = doc
			row = &n.row
		}
		if n.dedup {
			if fresh, err := n.seen.add(n.env, &n.stats, row.RecordKey); err != nil {
				return nil, err
			} else if !fresh {
				continue
			}
		}
		return n.emit(row)
	}
}

// IsEOF implements Node.
func (n *SortMerge) IsEOF() bool { return n.stats.IsEOF }

// fill reads the next row of every pending input.
func (n *SortMerge) fill(ctx context.Context) error {
	for len(n.pending) > 0 {
		in := n.pending[len(n.pending)-1]
		row, err := in.node.Next(ctx)
		if err != nil {
			return err
		}
		n.pending = n.pending[:len(n.pending)-1]
		if row == nil {
			continue
		}
		in.row = row
		if in.key, err = n.key(in.key[:0], row); err != nil {
			return err
		}
		heap.Push(&n.heap, in)
	}
	return nil
}

// Save implements Node. It copies the next rows of the inputs, whose memory the inputs release.
// These rows are checked again before they are yielded.
func (n *SortMerge) Save() {
	for _, in := range n.heap {
		if in.row != &in.held {
			in.held.copyFrom(in.row)
			in.row = &in.held
		}
	}
	n.again.records.close()
	n.base.Save()
}

func (n *SortMerge) kept() (bytes int64) {
	for _, in := range n.heap {
		bytes += int64(in.held.size())
	}
	return bytes
}

// Close implements Node.
func (n *SortMerge) Close() {
	n.again.records.close()
	n.base.Close()
	n.seen.close()
}

type mergeHeap []*mergeInput

func (h mergeHeap) Len() int { return len(h) }
func (h mergeHeap) Less(i, j int) bool {
	if c := bytes.Compare(h[i].key, h[j].key); c != 0 {
		return c < 0
	}
	return h[i].order < h[j].order
}
func (h mergeHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *mergeHeap) Push(x any)   { *h = append(*h, x.(*mergeInput)) }
func (h *mergeHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
