package pcre

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// output is a pattern that is being written for one engine.
type output []byte

// WriteString appends text.
func (o *output) WriteString(text string) { *o = append(*o, text...) }

// Len returns the length of the output.
func (o *output) Len() int { return len(*o) }

// wrap puts text around the output from a position on.
func (o *output) wrap(from int, before, after string) {
	*o = slices.Insert(*o, from, []byte(before)...)
	*o = append(*o, after...)
}

// emitter writes a pattern for both engines. It knows the last atom, to which a quantifier may
// apply, and tracks the length of a match and the size of PCRE2's program.
type emitter struct {
	linear, backtracking output
	// linearOK means that the linear engine supports the whole pattern. newlineMatters means that
	// its result would be wrong for texts that end with a newline.
	linearOK, newlineMatters bool
	// positionsMatter means that only the backtracking engine finds the right positions. resets
	// means that \K moves the beginning of a match.
	positionsMatter, resets bool
	// loops means that some part is repeated.
	loops bool

	// literal is the whole pattern if isLiteral is set. anchored means that the literal must be at
	// the start of the text.
	literal             []byte
	isLiteral, anchored bool

	// The extents of the branch without its last atom, of the whole branch, and of the last atom.
	before, branch, atom extent
	atomIsAssertion      bool
	// Where the last atom starts in both outputs, for quantifiers.
	atomLinear, atomBacktracking int
	hasAtom                      bool
	// The size of the pattern compiled by PCRE2, as far as it was read, and the size before the
	// last atom.
	size, atomSize int
	atomIsGroup    bool
}

// write writes text that is not an atom.
func (o *emitter) write(linear, backtracking string) {
	o.linear.WriteString(linear)
	o.backtracking.WriteString(backtracking)
}

// emit writes the same atom to both engines.
func (o *emitter) emit(s string) { o.emitBoth(s, s) }

func (o *emitter) emitBoth(linear, backtracking string) {
	o.startAtom(extent{1, 1})
	o.write(linear, backtracking)
}

// emitBacktracking writes an atom that only the backtracking engine supports.
func (o *emitter) emitBacktracking(s string, matches extent) {
	o.linearOK = false
	o.startAtom(matches)
	o.backtracking.WriteString(s)
}

// emitPosition writes an assertion about a position, to which a quantifier cannot apply.
func (o *emitter) emitPosition(linear, backtracking string) {
	o.startAtom(extent{})
	o.write(linear, backtracking)
	o.hasAtom = false
}

func (o *emitter) startAtom(matches extent) {
	o.addAtom(matches)
	o.atomSize, o.atomIsGroup = o.size, false
	o.size += sizeOp
	o.atomLinear, o.atomBacktracking, o.hasAtom = o.linear.Len(), o.backtracking.Len(), true
}

// char writes a literal character.
func (o *emitter) char(r rune) {
	o.emit(quote(r))
	o.size += utf8.RuneLen(r)
	o.literal = utf8.AppendRune(o.literal, r)
}

func quote(r rune) string {
	if r < 0x80 && strings.ContainsRune(`\.+*?()|[]{}^$#-&~ `, r) && r != ' ' && r != '&' && r != '~' {
		return `\` + string(r)
	}
	return string(r)
}

// dot writes a dot. It matches newlines if all is true.
func (o *emitter) dot(all bool) {
	if all {
		o.emitBoth(`(?s:.)`, `[\s\S]`)
	} else {
		o.emit(`[^\n]`)
	}
}

// caret writes a caret. In multi-line mode it matches after every newline except a newline that
// ends the text.
func (o *emitter) caret(multiline bool) {
	if !multiline {
		o.emitPosition(`\A`, `\A`)
		return
	}
	o.newlineMatters = true
	o.emitPosition(`(?m:^)`, `(?:\A|(?<=\n)(?!\z))`)
}

// dollar writes a dollar sign. It matches at the end and before a newline that ends the text. In
// multi-line mode it matches before every newline.
func (o *emitter) dollar(multiline bool) {
	if multiline {
		o.emitPosition(`(?m:$)`, `(?=\n|\z)`)
		return
	}
	o.endOrNewline()
}

func (o *emitter) endOrNewline() {
	o.newlineMatters = true
	o.emitPosition(`\z`, `(?=\n?\z)`)
}

// wordEdge writes the edge of a word: a word boundary at which text matches.
func (o *emitter) wordEdge(text string) {
	o.linearOK = false
	o.emitPosition("", wordBoundary)
	o.startAtom(extent{})
	o.backtracking.WriteString(text)
	o.atomIsAssertion = true
}

// newline writes \R. crlf is true if only CR, LF and CRLF are newlines.
func (o *emitter) newline(crlf bool) {
	lines := `(?>\r\n|[\n-\r` + "\u0085\u2028\u2029" + `])`
	if crlf {
		lines = `(?>\r\n|\n|\r)`
	}
	o.emitBacktracking(lines, extent{1, varies})
}

func (o *emitter) addAtom(matches extent) {
	o.before, o.atom, o.atomIsAssertion = o.branch, matches, false
	o.branch = o.before.then(matches)
}

// repeatExtent applies a quantifier to the extent of the last atom. The length is fixed only if
// both counts are equal. Repeating a lookahead does not change its length.
func (o *emitter) repeatExtent(counted bool, r repeat) {
	if o.atomIsAssertion {
		return
	}
	times := extent{min(o.atom.min*r.low, maxExtent), varies}
	if counted && r.low == r.high && o.atom.fixed != varies {
		times.fixed = min(o.atom.fixed*r.low, maxExtent)
	}
	o.atom = times
	o.branch = o.before.then(times)
}

// quantify repeats the last atom. text is the quantifier without the characters after its counts.
func (o *emitter) quantify(text string, counts repeat, lazy, possessive bool) {
	o.repeat(counts)
	o.repeatExtent(text[0] == '{', counts)
	o.loops = o.loops || counts.high > 1 || counts.high == many
	o.isLiteral = false
	if lazy && !possessive {
		text += "?"
	}
	o.linear.wrap(o.atomLinear, "(?:", ")"+text)
	o.backtracking.wrap(o.atomBacktracking, "(?:", ")"+text)
	if possessive {
		o.linearOK = false
		o.backtracking.wrap(o.atomBacktracking, "(?>", ")")
	}
	o.hasAtom = false
}
