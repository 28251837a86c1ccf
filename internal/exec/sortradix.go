package exec

import "slices"

// radixMin is the number of entries from which on a radix sort is faster than comparisons.
const radixMin = 200

// sortRefs sorts entries by key and order of arrival. The heads are as good as lost after it.
//
// Heads are sorted by their bytes, from the last to the first, without a look at the entries. Only entries that have one head
// are looked at: by their next eight bytes where there are many, else by comparisons.
func sortRefs(refs []sortRef) { sortRefsFrom(refs, nil, headSize) }

// headSize is how many bytes of a key are in a head.
const headSize = 8

// sortRefsFrom sorts entries whose keys agree up to their heads, which end at the given byte of the key.
func sortRefsFrom(refs, spare []sortRef, end int) {
	if len(refs) < radixMin {
		slices.SortFunc(refs, compareEntries)
		return
	}
	if len(spare) < len(refs) {
		spare = make([]sortRef, len(refs))
	}
	sortHeads(refs, spare[:len(refs)])
	for len(refs) > 0 {
		n := 1
		for n < len(refs) && refs[n].head == refs[0].head {
			n++
		}
		same := refs[:n]
		refs = refs[n:]
		switch {
		case n == 1:
		case n >= radixMin && nextHeads(same, end):
			sortRefsFrom(same, spare, end+headSize)
		default:
			slices.SortFunc(same, compareEntries)
		}
	}
}

// nextHeads replaces the heads by the bytes behind them. It reports false, and leaves the heads, where no key has any.
func nextHeads(refs []sortRef, end int) bool {
	longer := slices.ContainsFunc(refs, func(r sortRef) bool { return r.entry.keyLen > end })
	for i := range refs {
		if key := refs[i].entry.key(); longer {
			refs[i].head = keyHead(key[min(end, len(key)):])
		}
	}
	return longer
}

// sortHeads sorts by head, and leaves entries with one head as they stood.
func sortHeads(refs, spare []sortRef) {
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
	}
	if &from[0] != &refs[0] {
		copy(refs, from)
	}
}
