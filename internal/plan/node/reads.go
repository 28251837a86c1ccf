package node

import (
	"context"

	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// reading is what an operator reads itself. The zero value is nothing.
type reading struct {
	scan    *IndexScan // of an index
	records bool       // the collection, or a range of it
	id      bool       // one record by its _id
}

// ScanOf returns the scan of an index that a node stands for, or nil.
func ScanOf(n Node) *IndexScan { return n.reads().scan }

// CountUses tells the indexes of a plan that is going to run that an operation uses them ($indexStats), and the
// collection that it is scanned ($collStats).
func CountUses(q *query.Query, n Node) {
	c := q.Coll
	if c == nil {
		return
	}
	switch r := n.reads(); {
	case r.scan != nil:
		r.scan.Index.Used(c)
	case r.records:
		c.Scans().Add(q.Tailable)
	case r.id:
		c.IDUses().Add()
	}
	for i := 0; n.input(i) != nil; i++ {
		CountUses(q, n.input(i))
	}
}

// Accessed adds to scans how many times a plan scans the collection, and to indexes the names of the indexes that it reads.
func Accessed(n Node, scans int, indexes []string) (int, []string) {
	switch r := n.reads(); {
	case r.scan != nil:
		indexes = append(indexes, r.scan.Index.Name)
	case r.records:
		scans++
	case r.id:
		indexes = append(indexes, "_id_")
	}
	for i := 0; n.input(i) != nil; i++ {
		scans, indexes = Accessed(n.input(i), scans, indexes)
	}
	return scans, indexes
}

// countNode counts the long bounds of a plan as what the operation holds. counted are those that it counted before.
func countNode(ctx context.Context, n Node, counted *map[sharedKey]bool) error {
	for i := 0; n.input(i) != nil; i++ {
		if err := countNode(ctx, n.input(i), counted); err != nil {
			return err
		}
	}
	scan := n.reads().scan
	if scan == nil {
		return nil
	}
	for f, ivs := range scan.Bounds {
		if len(ivs) < bounds.Long {
			continue
		}
		key := sharedKey{&ivs[0], scan.Index.Fields[f].Desc}
		if (*counted)[key] {
			continue
		}
		if *counted == nil {
			*counted = map[sharedKey]bool{}
		}
		(*counted)[key] = true
		if err := memory.Of(ctx).Add(ivs.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// sharedKey tells lists of intervals apart; see bounds.Shared.
type sharedKey struct {
	of   *bounds.Interval
	desc bool
}

// CountBounds counts the long bounds of the solutions as what the operation holds. They take several times the memory of the
// values that they were made of.
func CountBounds(ctx context.Context, solutions []*Solution) error {
	var counted map[sharedKey]bool
	for _, s := range solutions {
		if err := countNode(ctx, s.Root, &counted); err != nil {
			return err
		}
	}
	return nil
}
