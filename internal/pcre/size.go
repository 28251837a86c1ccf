package pcre

import "unicode/utf8"

// PCRE2 refuses a pattern that is too large once it is compiled. What is here follows the form of
// its programs as far as that decides: repeated groups are written out, repeated characters are
// not.
const (
	maxCompiled = 1 << 16
	// sizeAround is what stands around the whole.
	sizeAround = 7
	sizeOp     = 1
	// sizeBranch is the beginning of a group or of a branch in it, or a group's end.
	sizeBranch = 3
	// sizeCapture is the number of a group, sizeReference a reference to one.
	sizeCapture   = 2
	sizeReference = 3
	// sizeReverse begins each branch of a lookbehind.
	sizeReverse = 3
	// sizeCondition is a condition that asks for a group, sizeCallout a callout with a number, and
	// sizeProperty a property of characters.
	sizeCondition = 3
	sizeCallout   = 6
	sizeProperty  = 3
	// sizeBitmap is a class of characters, sizeCount a count of repetitions.
	sizeBitmap = 33
	sizeCount  = 2
	// sizeOptional is what is around each copy of a group that may be left out, but for the last.
	sizeOptional = 7
)

// many is the upper count of a quantifier without one.
const many = -1

// repeat is how often an atom stands.
type repeat struct{ low, high int }

// repeat counts what a quantifier makes of the last atom.
func (o *emitter) repeat(r repeat) {
	atom := o.size - o.atomSize
	switch {
	case o.atomIsGroup:
		o.size = o.atomSize + r.ofGroup(atom)
	case atom >= sizeBitmap:
		o.size += sizeOp + 2*sizeCount
	default:
		o.size = o.atomSize + r.ofCharacter(atom)
	}
}

func (r repeat) ofGroup(size int) int {
	switch r.high {
	case many:
		return max(r.low, 1)*size + sizeOp
	case r.low:
		return max(r.low, 1) * size
	default:
		return r.low*size + (r.high-r.low)*(size+sizeOptional) - (sizeOptional - sizeOp)
	}
}

// ofCharacter counts an exact and a further repetition.
func (r repeat) ofCharacter(size int) int {
	exact, further := 0, 0
	if r.low == 1 && r.high != many {
		exact = size
	}
	if size == sizeOp {
		size += sizeOp // a type of characters, whose repetition is named before it
	}
	if r.low > 1 {
		exact = size + sizeCount
	}
	switch {
	case r.high == many || r.high == 1 && r.low == 0:
		further = size
	case r.high > r.low:
		further = size + sizeCount
	}
	return exact + further
}

// size is what a class takes compiled: one character is no class, and characters beyond Latin-1 are
// listed.
func (s *charSet) size() int {
	size, wide := sizeBitmap, 0
	for _, r := range s.ranges {
		if r[1] > 0xFF {
			wide += sizeOp + utf8.RuneLen(r[0]) + max(utf8.RuneLen(r[1]), 0)
		}
	}
	if len(s.ranges) == 1 && s.ranges[0][0] == s.ranges[0][1] && s.properties == "" {
		return sizeOp + max(utf8.RuneLen(s.ranges[0][0]), 1)
	}
	return size + wide
}
