package plan

import (
	"context"

	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
)

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

// sharedKey tells lists of intervals apart; see sharedList.
type sharedKey struct {
	of   *bounds.Interval
	desc bool
}

func countNode(ctx context.Context, n node, counted *map[sharedKey]bool) error {
	for i := 0; ; i++ {
		in := n.input(i)
		if in == nil {
			break
		}
		if err := countNode(ctx, in, counted); err != nil {
			return err
		}
	}
	scan := scanOf(n)
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

// scanOf returns the scan of an index that a node stands for, or nil.
func scanOf(n node) *indexScan {
	switch n := n.(type) {
	case *indexScan:
		return n
	case *countScan:
		return n.scan
	case *distinctScan:
		return n.scan
	case *geoNear:
		return n.scan
	default:
		return nil
	}
}
