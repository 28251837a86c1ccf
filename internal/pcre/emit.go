package pcre

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// newline writes \R.
func (t *translator) newline() {
	lines := `(?>\r\n|[\n-\r` + "\u0085\u2028\u2029" + `])`
	if t.bsrAnyCRLF {
		lines = `(?>\r\n|\n|\r)`
	}
	t.emitBacktracking(lines, extent{1, varies})
}

func (t *translator) addAtom(matches extent) {
	t.before, t.atom, t.atomIsAssertion = t.branch, matches, false
	t.branch = t.before.then(matches)
}

// repeatExtent makes the last atom as long as a quantifier makes it. Only counts that are equal
// make it fixed; a lookahead is as long however often it stands.
func (t *translator) repeatExtent(counted bool, r repeat) {
	if t.atomIsAssertion {
		return
	}
	times := extent{min(t.atom.min*r.low, maxExtent), varies}
	if counted && r.low == r.high && t.atom.fixed != varies {
		times.fixed = min(t.atom.fixed*r.low, maxExtent)
	}
	t.atom = times
	t.branch = t.before.then(times)
}

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

// emit writes the same to both engines as one atom.
func (t *translator) emit(s string) { t.emitBoth(s, s) }

func (t *translator) emitBoth(linear, backtracking string) {
	t.startAtom(extent{1, 1})
	t.linear.WriteString(linear)
	t.backtracking.WriteString(backtracking)
}

// emitBacktracking writes an atom that only one engine has.
func (t *translator) emitBacktracking(s string, matches extent) {
	t.linearOK = false
	t.startAtom(matches)
	t.backtracking.WriteString(s)
}

// emitPosition writes what matches a position, which no quantifier may follow.
func (t *translator) emitPosition(linear, backtracking string) {
	t.startAtom(extent{})
	t.linear.WriteString(linear)
	t.backtracking.WriteString(backtracking)
	t.hasAtom = false
}

func (t *translator) startAtom(matches extent) {
	t.addAtom(matches)
	t.atomSize, t.atomIsGroup = t.size, false
	t.size += sizeOp
	t.atomLinear, t.atomBacktracking, t.hasAtom = t.linear.Len(), t.backtracking.Len(), true
}

// char writes a character that stands for itself.
func (t *translator) char(r rune) {
	t.emit(quote(r))
	t.size += utf8.RuneLen(r)
	t.literal = utf8.AppendRune(t.literal, r)
}

func quote(r rune) string {
	if r < 0x80 && strings.ContainsRune(`\.+*?()|[]{}^$#-&~ `, r) && r != ' ' && r != '&' && r != '~' {
		return `\` + string(r)
	}
	return string(r)
}

func (t *translator) dot() {
	if t.fl.dotAll {
		t.emitBoth(`(?s:.)`, `[\s\S]`)
	} else {
		t.emit(`[^\n]`)
	}
}

// caret: in multi-line mode it matches after every newline except one that ends the text.
func (t *translator) caret() {
	if !t.fl.multiline {
		t.emitPosition(`\A`, `\A`)
		return
	}
	t.newlineMatters = true
	t.emitPosition(`(?m:^)`, `(?:\A|(?<=\n)(?!\z))`)
}

// dollar: it matches at the end and before a newline that ends the text; in multi-line mode before
// every newline.
func (t *translator) dollar() {
	if t.fl.multiline {
		t.emitPosition(`(?m:$)`, `(?=\n|\z)`)
		return
	}
	t.endOrNewline()
}

func (t *translator) endOrNewline() {
	t.newlineMatters = true
	t.emitPosition(`\z`, `(?=\n?\z)`)
}
