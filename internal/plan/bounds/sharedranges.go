package bounds

import (
	"unsafe"

	"github.com/sheafdb/sheaf/internal/exec"
)

// Long is the number of intervals from which bounds are shared and their memory is counted. Shorter
// bounds are encoded again for each scan.
const Long = 1 << 10

// Shared holds encoded bounds of long lists, which all candidates of a query share. Only one
// goroutine at a time may use it. A nil *Shared shares nothing.
type Shared struct{ lists []sharedList }

type sharedList struct {
	of     *Interval // first element of the list, which identifies the list
	length int
	desc   bool
	ranges []exec.Range
}

// Ranges encodes bounds like the function ranges. It encodes a long list only once.
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

// Bytes estimates the memory in bytes of a list with its encoded ranges. It assumes that all keys
// are as long as the first.
func (ivs Intervals) Bytes() int64 {
	return int64(len(ivs)) * int64(unsafe.Sizeof(Interval{})+unsafe.Sizeof(exec.Range{})+uintptr(rangeSize(ivs[0])))
}
