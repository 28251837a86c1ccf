package extsort

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/interrupt"
)

// radixMin is the number of entries from which on a radix sort is faster than comparisons.
const radixMin = 200

const (
	// headSize is how many bytes of a key are in a head.
	headSize = 8
	// maxRadix bounds the bytes of a key that are sorted by their heads. Keys with a longer common
	// prefix are compared.
	maxRadix = 32 * headSize
)

// sortRefs sorts entries by key and order of arrival. The heads are undefined after it. It fails if
// the operation ends; the order is undefined then.
//
// Heads are sorted by their bytes, from the last to the first, without a look at the entries. Only
// entries with equal heads are looked at: by their next eight bytes if there are many, else by
// comparisons.
func sortRefs(refs []ref, m *interrupt.Meter, r *interrupt.Running) error {
	s := radixSort{m, r}
	return s.sort(refs, nil, headSize)
}

type radixSort struct {
	meter   *interrupt.Meter
	running *interrupt.Running
}

// sort sorts entries whose keys agree up to their heads, which end at the given byte of the key.
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

// nextHeads replaces the heads by the bytes that follow them. It reports false, and leaves the
// heads, if no key has any.
func nextHeads(refs []ref, end int) bool {
	longer := slices.ContainsFunc(refs, func(r ref) bool { return r.entry.keyLen > end })
	for i := range refs {
		if key := refs[i].entry.key(); longer {
			refs[i].head = keyHead(key[min(end, len(key)):])
		}
	}
	return longer
}

// heads sorts by head, and leaves entries with equal heads in their order.
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
			continue // the same in all of them
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
