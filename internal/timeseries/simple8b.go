package timeseries

import "math/bits"

// Simple8b packs small integers into words of 64 bits. The low 4 bits are a selector: it gives the
// number and the size of the slots that follow. A slot with all bits set stands for a missing
// value.
//
//	selector       1  2  3  4  5  6  7  8  9 10 11 12 13 14
//	bits a slot    1  2  3  4  5  6  7  8 10 12 15 20 30 60
//	slots         60 30 20 15 12 10  8  7  6  5  4  3  2  1
//
// In words with selector 7 or 8, the slots begin 4 bits later, after a second nibble. This encoder
// always writes 0 into the second nibble. Selector 15 repeats the last value of the previous word
// (second nibble + 1) * 120 times.
const (
	rleSelector = 15
	rleUnit     = 120
	maxRLE      = 16 * rleUnit

	// missing stands for a missing value before packing.
	missing = ^uint64(0)
	// maxPacked is the largest value for a slot.
	maxPacked = 1<<60 - 2
)

type selector struct{ bits, slots, shift uint8 }

// selectors has the layout of the words of each selector.
var selectors = [15]selector{
	{},
	{1, 60, 4},
	{2, 30, 4},
	{3, 20, 4},
	{4, 15, 4},
	{5, 12, 4},
	{6, 10, 4},
	{7, 8, 8},
	{8, 7, 8},
	{10, 6, 4},
	{12, 5, 4},
	{15, 4, 4},
	{20, 3, 4},
	{30, 2, 4},
	{60, 1, 4},
}

// width returns the bits that a value needs.
func width(v uint64) uint8 {
	if v == missing {
		return 1
	}
	return uint8(bits.Len64(v + 1))
}

// nextWord packs the first values into a word and returns their number. last is the value before
// them, which the word may repeat if hasLast is true.
func nextWord(values []uint64, last uint64, hasLast bool) (word uint64, n int) {
	if hasLast {
		run := 0
		for run < len(values) && run < maxRLE && values[run] == last {
			run++
		}
		if units := run / rleUnit; units > 0 {
			return uint64(units-1)<<4 | rleSelector, units * rleUnit
		}
	}
	s := widest(values)
	sel := selectors[s]
	word = uint64(s)
	mask := uint64(1)<<sel.bits - 1
	for i := range int(sel.slots) {
		word |= (values[i] & mask) << (int(sel.shift) + i*int(sel.bits))
	}
	return word, int(sel.slots)
}

// widest returns the selector with the most slots that the first values can fill.
func widest(values []uint64) int {
	need, seen := uint8(0), 0
	best := 14
	// A selector with more slots has narrower slots. The loop goes from few slots to many, so the
	// required width only grows.
	for s := 14; s > 0; s-- {
		sel := selectors[s]
		if int(sel.slots) > len(values) {
			break
		}
		for ; seen < int(sel.slots); seen++ {
			need = max(need, width(values[seen]))
		}
		if need <= sel.bits {
			best = s
		}
		if need > 30 {
			break
		}
	}
	return best
}
