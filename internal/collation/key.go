package collation

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// element is a collation element: the weights of a unit of text on each level. A weight is zero if
// the unit has no weight on the level.
type element struct {
	primary   uint32
	secondary uint16
	tertiary  uint8
	shifted   bool // alternate "shifted" has moved the element to the fourth level
}

// levels contains the weights of a text by level.
type levels struct {
	primaries   []uint32
	secondaries []uint16
	tertiaries  []uint8
}

const (
	separator = 1 // separates levels; the first byte of every weight is greater

	commonSecondary = 0x20
	commonTertiary  = 2

	caseLower = 2
	caseUpper = 4

	// unshifted is the weight on the fourth level of characters that are not variable.
	unshifted = 0xFF
)

func (by *rules) appendKey(dst, s []byte, w *worker) []byte {
	if by.ascii != nil && !by.aligned && isASCII(s) {
		return by.appendASCII(dst, s)
	}
	if by.aligned {
		return by.appendAligned(dst, s, w)
	}
	w.weigh(s)
	for _, p := range w.levels.primaries {
		dst = appendPrimary(dst, p)
	}
	if by.opts.strength >= secondary {
		dst = append(dst, separator)
		dst = by.appendSecondaries(dst, w.levels.secondaries)
	}
	if by.opts.strength >= tertiary {
		dst = append(append(dst, separator), w.levels.tertiaries...)
	}
	return by.appendIdentical(dst, s)
}

// appendASCII is appendKey for a text of ASCII characters, each of which has its own element.
func (by *rules) appendASCII(dst, s []byte) []byte {
	dst = by.appendASCIIPrimaries(dst, s)
	if by.opts.strength >= secondary {
		dst = by.appendASCIISecondaries(append(dst, separator), s)
	}
	if by.opts.strength >= tertiary {
		dst = by.appendASCIITertiaries(append(dst, separator), s)
	}
	return by.appendIdentical(dst, s)
}

func (by *rules) appendASCIIPrimaries(dst, s []byte) []byte {
	for _, b := range s {
		if p := by.ascii[b].primary; p != 0 {
			dst = appendPrimary(dst, p)
		}
	}
	return dst
}

func (by *rules) appendASCIISecondaries(dst, s []byte) []byte {
	for _, b := range s {
		if by.ascii[b].primary != 0 {
			dst = append(dst, commonSecondary)
		}
	}
	return dst
}

func (by *rules) appendASCIITertiaries(dst, s []byte) []byte {
	for _, b := range s {
		if t := by.ascii[b].tertiary; t != 0 {
			dst = append(dst, t)
		}
	}
	return dst
}

func (by *rules) appendIdentical(dst, s []byte) []byte {
	if by.opts.strength < identical {
		return dst
	}
	return norm.NFD.Append(append(dst, separator), s...)
}

func (by *rules) appendSecondaries(dst []byte, weights []uint16) []byte {
	for i := range weights {
		if by.opts.backwards {
			dst = appendSecondary(dst, weights[len(weights)-1-i])
		} else {
			dst = appendSecondary(dst, weights[i])
		}
	}
	return dst
}

// appendPrimary appends a primary weight in two bytes, or in three bytes for most ideographs. The
// first byte is greater than the separator.
func appendPrimary(dst []byte, p uint32) []byte {
	if p <= 0x7FFF {
		return append(dst, byte(p>>8)+1, byte(p))
	}
	return append(dst, byte(p>>16)|0x80+1, byte(p>>8), byte(p))
}

// appendSecondary appends a secondary weight. Frequent weights take one byte.
func appendSecondary(dst []byte, s uint16) []byte {
	if s < 0xE0 {
		return append(dst, byte(s))
	}
	return append(dst, 0xE0|byte(s>>8), byte(s))
}

// weigh stores the weights of a text in w.levels. It takes apart the key of x/text, which contains
// the primary weights in two or three bytes each, 00 00, the secondary weights in two bytes, 00 00,
// and the tertiary weights in one byte.
func (w *worker) weigh(s []byte) {
	w.buffer.Reset()
	key := w.collator.Key(&w.buffer, s)
	l := &w.levels
	l.primaries, l.secondaries, l.tertiaries = l.primaries[:0], l.secondaries[:0], l.tertiaries[:0]
	for {
		if key[0] >= 0x80 {
			p := uint32(key[0]&0x7F)<<16 | uint32(key[1])<<8 | uint32(key[2])
			l.primaries = append(l.primaries, w.order.of(p))
			key = key[3:]
			continue
		}
		p := uint32(key[0])<<8 | uint32(key[1])
		key = key[2:]
		if p == 0 {
			break
		}
		l.primaries = append(l.primaries, w.order.of(p))
	}
	for {
		s := uint16(key[0])<<8 | uint16(key[1])
		key = key[2:]
		if s == 0 {
			break
		}
		l.secondaries = append(l.secondaries, s)
	}
	l.tertiaries = append(l.tertiaries, key...)
}

// first returns the first collation element of a character, or a zero element.
func (w *worker) first(r rune) element {
	w.elements = w.appendUnit(w.elements[:0], []byte(string(r)))
	if len(w.elements) == 0 {
		return element{}
	}
	return w.elements[0]
}

func (w *worker) primary(r rune) uint32 { return w.first(r).primary }

// appendUnit appends the elements of a base character with its marks. x/text's key contains as many
// secondary as tertiary weights, but may contain fewer primary weights. If there are as many
// primary weights as elements with the common secondary weight, each of these elements gets a
// primary weight. Otherwise the first elements do.
func (w *worker) appendUnit(dst []element, s []byte) []element {
	w.weigh(s)
	l := &w.levels
	primaries, common := l.primaries, 0
	for _, s := range l.secondaries {
		if s == commonSecondary {
			common++
		}
	}
	inPlace := common == len(primaries)
	for i := range max(len(l.primaries), len(l.secondaries), len(l.tertiaries)) {
		var e element
		if i < len(l.secondaries) {
			e.secondary = l.secondaries[i]
		}
		if i < len(l.tertiaries) {
			e.tertiary = l.tertiaries[i]
		}
		if len(primaries) > 0 && (!inPlace || e.secondary == commonSecondary) {
			e.primary, primaries = primaries[0], primaries[1:]
		}
		dst = append(dst, e)
	}
	return dst
}

// appendElements appends the elements of a text, unit by unit.
func (by *rules) appendElements(dst []element, s []byte, w *worker) []element {
	for len(s) > 0 {
		var n int
		dst, n = by.appendFirst(dst, s, w)
		s = s[n:]
	}
	return dst
}

// appendFirst appends the elements of the first unit or number in s, and returns its length.
func (by *rules) appendFirst(dst []element, s []byte, w *worker) ([]element, int) {
	if by.opts.numeric {
		if segment, n := w.leadingSegment(s); n > 0 {
			return by.appendSegment(dst, segment), n
		}
	}
	if by.ascii != nil && s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		if e := by.ascii[s[0]]; e != (element{}) {
			dst = append(dst, e)
		}
		return dst, 1
	}
	n := by.unit(s)
	return w.appendUnit(dst, s[:n]), n
}

// unit returns the length of the first part of s whose weights do not depend on the following text.
// A part that is too long is cut after maxPiece bytes.
func (by *rules) unit(s []byte) int {
	s = s[:min(len(s), maxPiece)]
	before, n := utf8.DecodeRune(s)
	for n < len(s) {
		r, size := utf8.DecodeRune(s[n:])
		if by.opts.numeric && unicode.Is(unicode.Nd, r) || !continues(before, r) {
			break
		}
		before = r
		n += size
	}
	return n
}

// continues reports whether the weights of r may depend on the previous character. That is the case
// for a mark, and for a script whose letters are ordered together.
func continues(before, r rune) bool {
	if r == '·' || r == '\u0387' {
		return before == 'l' || before == 'L' // the Catalan letter l·
	}
	if unicode.In(r, unicode.M) || r == 'ー' || r >= 'ゝ' && r <= 'ゞ' || r >= 'ヽ' && r <= 'ヾ' || isJamo(r) {
		return true
	}
	return !alone(before) && !alone(r)
}

// alone reports whether a character belongs to a script whose letters have independent weights.
func alone(r rune) bool {
	return r < utf8.RuneSelf ||
		unicode.In(r, unicode.Common, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Han,
			unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Armenian, unicode.Georgian,
			unicode.Hebrew, unicode.Arabic)
}

func isJamo(r rune) bool { return r >= 0x1100 && r <= 0x11FF }

// maxSegment is the largest number of digits in one number. More digits form another number.
const maxSegment = 254

// appendSegment appends the elements for the digits of a number. As in ICU, the number of digits
// comes first, so that longer numbers sort later.
func (by *rules) appendSegment(dst []element, segment []byte) []element {
	if len(segment) == 0 {
		return dst
	}
	number := func(p uint32) element {
		return element{primary: p, secondary: commonSecondary, tertiary: commonTertiary}
	}
	dst = append(dst, number(by.zero), element{primary: uint32(len(segment))})
	for _, d := range segment {
		dst = append(dst, element{primary: uint32(d) + 1})
	}
	return dst
}

// leadingSegment returns the values of the decimal digits at the beginning of s, of any script, up
// to maxSegment digits, and their length in s. It omits leading zeros. After maxPiece bytes of
// zeros it returns no digits.
func (w *worker) leadingSegment(s []byte) (segment []byte, n int) {
	segment = w.digits[:0]
	for n < len(s) && n < maxPiece {
		r, size := utf8.DecodeRune(s[n:])
		if !unicode.Is(unicode.Nd, r) {
			break
		}
		d := digitValue(r)
		if d == 0 && len(segment) == 0 {
			if next, _ := utf8.DecodeRune(s[n+size:]); unicode.Is(unicode.Nd, next) {
				n += size
				continue
			}
		}
		segment = append(segment, d)
		n += size
		if len(segment) == maxSegment {
			break
		}
	}
	w.digits = segment
	return segment, n
}

// digitValue returns the value of a decimal digit. It relies on the fact that the ten digits of a
// script have consecutive code points.
func digitValue(r rune) byte {
	if r < utf8.RuneSelf {
		return byte(r - '0')
	}
	if r >= 0x1D7CE && r <= 0x1D7FF { // five adjacent sets of mathematical digits
		return byte((r - 0x1D7CE) % 10)
	}
	v := byte(0)
	for unicode.Is(unicode.Nd, r-rune(v)-1) {
		v++
	}
	return v % 10
}

// appendAligned appends a key that is built from whole elements.
func (by *rules) appendAligned(dst, s []byte, w *worker) []byte {
	w.elements = by.appendElements(w.elements[:0], s, w)
	elements := w.elements
	if by.opts.alternate == "shifted" {
		after := false
		elements = by.shift(elements, &after)
	}
	dst = appendPrimaries(dst, elements)
	if by.opts.strength >= secondary {
		dst = by.appendElementSecondaries(append(dst, separator), elements, w)
	}
	if by.opts.caseLevel {
		dst = by.appendCases(append(dst, separator), elements)
	}
	if by.opts.strength >= tertiary {
		dst = by.appendTertiaries(append(dst, separator), elements)
	}
	if by.opts.strength >= quaternary && by.opts.alternate == "shifted" {
		dst = appendQuaternaries(append(dst, separator), elements)
	}
	return by.appendIdentical(dst, s)
}

// appendPrimaries appends the first level of the elements.
func appendPrimaries(dst []byte, elements []element) []byte {
	for _, e := range elements {
		if e.primary != 0 && !e.shifted {
			dst = appendPrimary(dst, e.primary)
		}
	}
	return dst
}

// appendElementSecondaries appends the second level of the elements.
func (by *rules) appendElementSecondaries(dst []byte, elements []element, w *worker) []byte {
	weights := w.levels.secondaries[:0]
	for _, e := range elements {
		if e.secondary != 0 {
			weights = append(weights, e.secondary)
		}
	}
	w.levels.secondaries = weights
	return by.appendSecondaries(dst, weights)
}

// shift moves variable elements to the fourth level, and drops the marks that follow them. after
// tells whether the previous element was variable.
func (by *rules) shift(elements []element, after *bool) []element {
	out := elements[:0]
	for _, e := range elements {
		switch {
		case e.primary != 0 && e.primary <= by.variable && e.tertiary != 0:
			*after = true
			out = append(out, element{primary: e.primary, shifted: true})
		case e.primary != 0:
			*after = false
			out = append(out, e)
		case !*after:
			out = append(out, e)
		}
	}
	return out
}

// appendCases appends the case level. At strength 1 only letters have a case weight, otherwise
// marks have one too.
func (by *rules) appendCases(dst []byte, elements []element) []byte {
	for _, e := range elements {
		if e.shifted || e.tertiary == 0 || e.primary == 0 && (by.opts.strength == primary || e.secondary == 0) {
			continue
		}
		dst = append(dst, by.caseOf(e))
	}
	return dst
}

// caseOf returns the case weight of an element.
func (by *rules) caseOf(e element) byte {
	upper := e.primary != 0 && isUpper(e.tertiary)
	if by.opts.caseFirst == "upper" {
		upper = !upper
	}
	if upper {
		return caseUpper
	}
	return caseLower
}

// isUpper reports whether a tertiary weight belongs to an upper-case letter, or to a full-size
// kana.
func isUpper(tertiary uint8) bool {
	switch tertiary {
	case 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0E, 0x11, 0x12, 0x13, 0x1D:
		return true
	default:
		return false
	}
}

// appendTertiaries appends the third level. If caseFirst is set, the case is the most significant
// part of the weight. Marks sort after all letters.
func (by *rules) appendTertiaries(dst []byte, elements []element) []byte {
	byCase := by.opts.caseFirst != "off" && !by.opts.caseLevel
	for _, e := range elements {
		switch {
		case e.tertiary == 0:
		case !byCase:
			dst = append(dst, e.tertiary)
		case e.primary == 0 && e.secondary == 0:
			dst = append(dst, 0xC0|e.tertiary)
		default:
			dst = append(dst, by.caseOf(e)<<4|e.tertiary)
		}
	}
	return dst
}

// appendQuaternaries appends the fourth level. Variable elements sort before all other elements.
func appendQuaternaries(dst []byte, elements []element) []byte {
	for _, e := range elements {
		switch {
		case e.shifted:
			dst = appendPrimary(dst, e.primary)
		case e.tertiary != 0:
			dst = append(dst, unshifted)
		}
	}
	return dst
}

func isASCII(s []byte) bool {
	for _, b := range s {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
