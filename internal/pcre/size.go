package pcre

import "unicode/utf8"

// PCRE2 rejects a pattern if its compiled program is too large. These sizes are the same as in its
// programs, as far as the limit depends on them. PCRE2 copies repeated groups, but not repeated
// characters.
const (
	maxCompiled = 1 << 16
	// sizeAround is the total size of the parts before and after the whole pattern.
	sizeAround = 7
	sizeOp     = 1
	// sizeBranch is the size of the beginning of a group or branch. The end of a group has the same
	// size.
	sizeBranch = 3
	// sizeCapture is the size of a group's number, and sizeReference is the size of a reference to
	// a group.
	sizeCapture   = 2
	sizeReference = 3
	// sizeReverse is added for each branch of a lookbehind.
	sizeReverse = 3
	// sizeCondition is the size of a condition about a group. sizeCallout is the size of a callout
	// with a number. sizeProperty is the size of a character property.
	sizeCondition = 3
	sizeCallout   = 6
	sizeProperty  = 3
	// sizeBitmap is the size of a character class, and sizeCount is the size of a repetition count.
	sizeBitmap = 33
	sizeCount  = 2
	// sizeOptional is added for each optional copy of a group, except the last.
	sizeOptional = 7
)

// many is the upper count of a quantifier without a limit.
const many = -1

// repeat is how often an atom is repeated.
type repeat struct{ low, high int }

// repeat adds the size of the last atom with its quantifier.
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

// ofCharacter returns the size of a repeated character. It adds the exact repetition and the
// optional one.
func (r repeat) ofCharacter(size int) int {
	exact, further := 0, 0
	if r.low == 1 && r.high != many {
		exact = size
	}
	if size == sizeOp {
		size += sizeOp // a character type, whose repetition is written before it
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

// size returns the compiled size of a class. A class with only one character is as large as the
// character. Characters above Latin-1 need more, because PCRE2 lists their ranges.
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
