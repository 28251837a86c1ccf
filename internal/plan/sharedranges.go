package plan

import (
	"context"
	"unsafe"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/memory"
)

// longBounds is from which number of intervals on bounds are shared and counted. A scan of a few is made again.
const longBounds = 1 << 10

// sharedRanges are the encoded bounds of long lists, which all candidates of a query share. It is used by one goroutine at a
// time; a nil one shares nothing.
type sharedRanges struct{ lists []sharedList }

type sharedList struct {
	of     *interval // the first of the list, which tells it from others
	length int
	desc   bool
	ranges []exec.Range
}

// ranges is the function ranges, for a list of any length.
func (s *sharedRanges) ranges(ivs intervals, desc bool) []exec.Range {
	if s == nil || len(ivs) < longBounds {
		return ranges(ivs, desc)
	}
	for _, l := range s.lists {
		if l.of == &ivs[0] && l.length == len(ivs) && l.desc == desc {
			return l.ranges
		}
	}
	made := ranges(ivs, desc)
	s.lists = append(s.lists, sharedList{&ivs[0], len(ivs), desc, made})
	return made
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

// sharedKey tells lists of intervals apart; see sharedList.
type sharedKey struct {
	of   *interval
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
		if len(ivs) < longBounds {
			continue
		}
		key := sharedKey{&ivs[0], scan.index.fields[f].Desc}
		if (*counted)[key] {
			continue
		}
		if *counted == nil {
			*counted = map[sharedKey]bool{}
		}
		(*counted)[key] = true
		if err := memory.Of(ctx).Add(ivs.bytes()); err != nil {
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

// bytes returns about how much memory a list takes with its ranges: their keys are as long as the first.
func (ivs intervals) bytes() int64 {
	return int64(len(ivs)) * int64(unsafe.Sizeof(interval{})+unsafe.Sizeof(exec.Range{})+uintptr(rangeSize(ivs[0])))
}
