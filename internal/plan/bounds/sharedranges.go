package bounds

import (
	"unsafe"

	"github.com/sheafdb/sheaf/internal/exec"
)

// Long is from which number of intervals on bounds are shared and counted. A scan of a few is made
// again.
const Long = 1 << 10

// Shared are the encoded bounds of long lists, which all candidates of a query share. It is used by
// one goroutine at a time; a nil one shares nothing.
type Shared struct{ lists []sharedList }

type sharedList struct {
	of     *Interval // the first of the list, which tells it from others
	length int
	desc   bool
	ranges []exec.Range
}

// Ranges is the function ranges, for a list of any length.
func (s *Shared) Ranges(ivs Intervals, desc bool) []exec.Range {
	if s == nil || len(ivs) < Long {
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

// Bytes returns about how much memory a list takes with its ranges: their keys are as long as the
// first.
func (ivs Intervals) Bytes() int64 {
	return int64(len(ivs)) * int64(unsafe.Sizeof(Interval{})+unsafe.Sizeof(exec.Range{})+uintptr(rangeSize(ivs[0])))
}
