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

// Len returns how much was written.
func (o *output) Len() int { return len(*o) }

// wrap puts text around what was written from a position on.
func (o *output) wrap(from int, before, after string) {
	*o = slices.Insert(*o, from, []byte(before)...)
	*o = append(*o, after...)
}

// emitter writes a pattern for both engines. It knows the last atom, which a quantifier may follow,
// and what a match and PCRE2's program for the pattern take so far.
type emitter struct {
	linear, backtracking output
	// linearOK says that the linear engine has all of the pattern; newlineMatters, that it would be
	// wrong about texts that end with a newline.
	linearOK, newlineMatters bool
	// positionsMatter says that only the backtracking engine finds the right positions; resets,
	// that \K moves a match's beginning.
	positionsMatter, resets bool
	// loops says that something is repeated.
	loops bool

	// literal is all there is to the pattern where isLiteral is set; anchored says that it must
	// start the text.
	literal             []byte
	isLiteral, anchored bool

	// What the branch matches: without its last atom, with it, and the last atom alone.
	before, branch, atom extent
	atomIsAssertion      bool
	// The last atom, for quantifiers: where it starts in both outputs.
	atomLinear, atomBacktracking int
	hasAtom                      bool
	// What the pattern takes compiled by PCRE2, as far as it was read, and where the last atom
	// begins in that.
	size, atomSize int
	atomIsGroup    bool
}

// write writes text that is no atom.
func (o *emitter) write(linear, backtracking string) {
	o.linear.WriteString(linear)
	o.backtracking.WriteString(backtracking)
}

// emit writes the same to both engines as one atom.
func (o *emitter) emit(s string) { o.emitBoth(s, s) }

func (o *emitter) emitBoth(linear, backtracking string) {
	o.startAtom(extent{1, 1})
	o.write(linear, backtracking)
}

// emitBacktracking writes an atom that only one engine has.
func (o *emitter) emitBacktracking(s string, matches extent) {
	o.linearOK = false
	o.startAtom(matches)
	o.backtracking.WriteString(s)
}

// emitPosition writes what matches a position, which no quantifier may follow.
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

// char writes a character that stands for itself.
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

// dot writes a dot, which matches newlines where all is true.
func (o *emitter) dot(all bool) {
	if all {
		o.emitBoth(`(?s:.)`, `[\s\S]`)
	} else {
		o.emit(`[^\n]`)
	}
}

// caret: in multi-line mode it matches after every newline except one that ends the text.
func (o *emitter) caret(multiline bool) {
	if !multiline {
		o.emitPosition(`\A`, `\A`)
		return
	}
	o.newlineMatters = true
	o.emitPosition(`(?m:^)`, `(?:\A|(?<=\n)(?!\z))`)
}

// dollar: it matches at the end and before a newline that ends the text; in multi-line mode before
// every newline.
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

// wordEdge writes the edge of a word, which is a boundary where text matches.
func (o *emitter) wordEdge(text string) {
	o.linearOK = false
	o.emitPosition("", wordBoundary)
	o.startAtom(extent{})
	o.backtracking.WriteString(text)
	o.atomIsAssertion = true
}

// newline writes \R. Where CR and LF alone are newlines, crlf is true.
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

// repeatExtent makes the last atom as long as a quantifier makes it. Only counts that are equal
// make it fixed; a lookahead is as long however often it stands.
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

// quantify repeats the last atom. text is the quantifier without what follows its counts.
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
