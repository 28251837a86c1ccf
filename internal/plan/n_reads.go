package plan

import (
	"context"

	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// reading is what an operator reads itself. The zero value is nothing.
type reading struct {
	scan    *indexScan // of an index
	records bool       // the collection, or a range of it
	id      bool       // one record by its _id
}

// countUses tells the indexes of a plan that is going to run that an operation uses them ($indexStats), and the
// collection that it is scanned ($collStats).
func countUses(q *query.Query, n node) {
	c := q.Coll
	if c == nil {
		return
	}
	switch r := n.reads(); {
	case r.scan != nil:
		r.scan.index.Used(c)
	case r.records:
		c.Scans().Add(q.Tailable)
	case r.id:
		c.IDUses().Add()
	}
	for i := 0; n.input(i) != nil; i++ {
		countUses(q, n.input(i))
	}
}

// accessed adds to scans how many times a plan scans the collection, and to indexes the names of the indexes that it reads.
func accessed(n node, scans int, indexes []string) (int, []string) {
	switch r := n.reads(); {
	case r.scan != nil:
		indexes = append(indexes, r.scan.index.Name)
	case r.records:
		scans++
	case r.id:
		indexes = append(indexes, "_id_")
	}
	for i := 0; n.input(i) != nil; i++ {
		scans, indexes = accessed(n.input(i), scans, indexes)
	}
	return scans, indexes
}

// countNode counts the long bounds of a plan as what the operation holds. counted are those that it counted before.
func countNode(ctx context.Context, n node, counted *map[sharedKey]bool) error {
	for i := 0; n.input(i) != nil; i++ {
		if err := countNode(ctx, n.input(i), counted); err != nil {
			return err
		}
	}
	scan := n.reads().scan
	if scan == nil {
		return nil
	}
	for f, ivs := range scan.bounds {
		if len(ivs) < bounds.Long {
			continue
		}
		key := sharedKey{&ivs[0], scan.index.Fields[f].Desc}
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

// countBounds counts the long bounds of the solutions as what the operation holds. They take several times the memory of the
// values that they were made of.
func countBounds(ctx context.Context, solutions []*solution) error {
	var counted map[sharedKey]bool
	for _, s := range solutions {
		if err := countNode(ctx, s.root, &counted); err != nil {
			return err
		}
	}
	return nil
}
