package node

import (
	"context"

	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
)

// countNode counts the memory of a plan's long bounds for the operation. counted has the bounds
// that were counted before; they are not counted twice.
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

// sharedKey identifies a list of intervals; see bounds.Shared.
type sharedKey struct {
	of   *bounds.Interval
	desc bool
}

// CountBounds counts the memory of the solutions' long bounds for the operation. Bounds take
// several times the memory of the values that they were made from.
func CountBounds(ctx context.Context, solutions []*Solution) error {
	var counted map[sharedKey]bool
	for _, s := range solutions {
		if err := countNode(ctx, s.Root, &counted); err != nil {
			return err
		}
	}
	return nil
}
