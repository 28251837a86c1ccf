package pcre

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// output is the translated pattern for one engine.
type output []byte

// WriteString appends text.
func (o *output) WriteString(text string) { *o = append(*o, text...) }

// Len returns the length of the output in bytes.
func (o *output) Len() int { return len(*o) }

// wrap inserts before at the given position, and adds after at the end.
func (o *output) wrap(from int, before, after string) {
	*o = slices.Insert(*o, from, []byte(before)...)
	*o = append(*o, after...)
}

// emitter writes a pattern for both engines. It remembers the last atom, because a quantifier may
// follow. It also tracks the length of a match and the size of PCRE2's program.
type emitter struct {
	linear, backtracking output
	// linearOK is true if the linear engine supports the whole pattern. newlineMatters is true if
	// that engine would return a wrong result for texts that end with a newline.
	linearOK, newlineMatters bool
	// positionsMatter is true if only the backtracking engine finds the right positions. resets is
	// true if \K moves the beginning of a match.
	positionsMatter, resets bool
	// loops is true if a part of the pattern is repeated.
	loops bool

	// literal is the whole pattern if isLiteral is true. If anchored is true, the literal must be
	// at the start of the text.
	literal             []byte
	isLiteral, anchored bool

	// branch is the extent of the current branch, and before is its extent without the last atom.
	// atom is the extent of the last atom.
	before, branch, atom extent
	atomIsAssertion      bool
	// The last atom starts at these positions in the two outputs.
	atomLinear, atomBacktracking int
	hasAtom                      bool
	// size is the size of PCRE2's program for the pattern so far. atomSize is the size before the
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

// emitPosition writes an assertion about the position, which cannot be repeated.
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

// dot writes a dot, which matches newlines too if all is true.
func (o *emitter) dot(all bool) {
	if all {
		o.emitBoth(`(?s:.)`, `[\s\S]`)
	} else {
		o.emit(`[^\n]`)
	}
}

// caret writes a caret. In multi-line mode it matches after every newline that does not end the
// text.
func (o *emitter) caret(multiline bool) {
	if !multiline {
		o.emitPosition(`\A`, `\A`)
		return
	}
	o.newlineMatters = true
	o.emitPosition(`(?m:^)`, `(?:\A|(?<=\n)(?!\z))`)
}

// dollar writes a dollar sign. It matches at the end of the text and before a newline that ends the
// text. In multi-line mode it matches before every newline.
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

// wordEdge writes a word boundary at which the assertion text must be true.
func (o *emitter) wordEdge(text string) {
	o.linearOK = false
	o.emitPosition("", wordBoundary)
	o.startAtom(extent{})
	o.backtracking.WriteString(text)
	o.atomIsAssertion = true
}

// newline writes \R. If crlf is true, it matches only CR, LF and CRLF.
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

// quantify repeats the last atom. text is the quantifier without a character after it that makes it
// lazy or possessive.
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
