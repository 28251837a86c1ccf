package extsort

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/interrupt"
)

// radixMin is the number of entries from which a radix sort is faster than comparisons.
const radixMin = 200

const (
	// headSize is the number of bytes of a key in a head.
	headSize = 8
	// maxRadix limits the length of the prefix of a key, in bytes, that is sorted by heads. Keys
	// with a longer common prefix are sorted by comparisons.
	maxRadix = 32 * headSize
)

// sortRefs sorts entries by key, and entries with equal keys by their sequence. Afterwards the
// heads are undefined. It fails if the operation ends; the order is undefined then.
//
// Heads are sorted by their bytes, from the last to the first, without reading the entries. Entries
// with equal heads are then sorted by the next eight bytes of their keys if there are many, and by
// comparisons otherwise.
func sortRefs(refs []ref, m *interrupt.Meter, r *interrupt.Running) error {
	s := radixSort{m, r}
	return s.sort(refs, nil, headSize)
}

type radixSort struct {
	meter   *interrupt.Meter
	running *interrupt.Running
}

// sort sorts entries whose keys are equal up to their heads. end is the offset in the key at which
// the heads end.
func (s radixSort) sort(refs, spare []ref, end int) error {
	if len(refs) < radixMin || end > maxRadix {
		return s.compare(refs)
	}
	if len(spare) < len(refs) {
		spare = make([]ref, len(refs))
	}
	if err := s.heads(refs, spare[:len(refs)]); err != nil {
		return err
	}
	for len(refs) > 0 {
		n := 1
		for n < len(refs) && refs[n].head == refs[0].head {
			n++
		}
		same := refs[:n]
		refs = refs[n:]
		var err error
		switch {
		case n == 1:
		case n >= radixMin && nextHeads(same, end):
			err = s.sort(same, spare, end+headSize)
		default:
			err = s.compare(same)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s radixSort) compare(refs []ref) error {
	return interrupt.SortUnstable(refs, interrupt.Step/2, compareRefs, s.meter, s.running)
}

// nextHeads replaces the heads by the next bytes of the keys, from offset end. If no key is longer
// than end, it returns false and keeps the heads.
func nextHeads(refs []ref, end int) bool {
	longer := slices.ContainsFunc(refs, func(r ref) bool { return r.entry.keyLen > end })
	for i := range refs {
		if key := refs[i].entry.key(); longer {
			refs[i].head = keyHead(key[min(end, len(key)):])
		}
	}
	return longer
}

// heads sorts entries by head. Entries with equal heads keep their order.
func (s radixSort) heads(refs, spare []ref) error {
	var counts [headSize][256]uint32
	for i := range refs {
		for b, head := 0, refs[i].head; b < headSize; b++ {
			counts[b][byte(head>>(8*b))]++
		}
	}
	from, to := refs, spare
	for b := range headSize {
		count := &counts[b]
		if int(count[byte(from[0].head>>(8*b))]) == len(refs) {
			continue // the byte is the same in all heads
		}
		start := uint32(0)
		for i, n := range count {
			count[i] = start
			start += n
		}
		for _, ref := range from {
			digit := byte(ref.head >> (8 * b))
			to[count[digit]] = ref
			count[digit]++
		}
		from, to = to, from
		if err := s.meter.Did(len(refs)*interrupt.Step/8, s.running); err != nil {
			return err
		}
	}
	if &from[0] != &refs[0] {
		copy(refs, from)
	}
	return nil
}
