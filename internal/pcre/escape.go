package pcre

import (
	"strings"
)

const (
	wordClass    = `(?-i:[0-9A-Za-z_])`
	wordBoundary = `(?:(?<=` + wordClass + `)(?!` + wordClass + `)|(?<!` + wordClass + `)(?=` + wordClass + `))`
	notBoundary  = `(?:(?<=` + wordClass + `)(?=` + wordClass + `)|(?<!` + wordClass + `)(?!` + wordClass + `))`
)

// escape reads what follows a backslash outside a character class.
func (t *translator) escape() error {
	if t.pos == len(t.src) {
		return invalid("\\ at end of pattern")
	}
	c := t.src[t.pos]
	if isNamedCharacter(t.src[t.pos:]) {
		return errUnsupportedEscape
	}
	if set, ok := classEscape(c); ok && !strings.HasPrefix(t.src[t.pos:], "N{U+") {
		t.pos++
		t.isLiteral = false
		t.emit("(?-i:" + set.text(false) + ")")
		return nil
	}
	switch c {
	case 'Q':
		t.quoted()
		return nil
	case 'E':
		t.pos++
		return nil
	case 'p', 'P':
		t.isLiteral = false
		text, err := t.property()
		if err != nil {
			return err
		}
		t.emit("[" + text + "]")
		t.size += sizeProperty - sizeOp
		return nil
	}
	if handled, err := t.assertion(c); handled {
		t.isLiteral = false
		return err
	}
	if r, ok, err := t.charEscape(false); ok || err != nil {
		if err == nil {
			t.char(r)
		}
		return err
	}
	t.isLiteral = false
	return t.referenceEscape(c)
}

// isNamedCharacter reports whether s begins with N{name}, which PCRE2 does not have.
func isNamedCharacter(s string) bool {
	return strings.HasPrefix(s, "N{") && !strings.HasPrefix(s, "N{U+") && !isNextRepeat(s[1:])
}

// resetGroup is the group that \K sets: its number is beyond those that a pattern may have.
const (
	resetNumber = maxCaptures + 1
	resetGroup  = `(?<65536>)`
)

// assertion reads the escapes that stand for a position or for a sequence.
func (t *translator) assertion(c byte) (bool, error) {
	if strings.IndexByte("AGzZbBKRX", c) < 0 {
		return false, nil
	}
	t.pos++
	switch c {
	case 'A':
		t.emitPosition(`\A`, `\A`)
	case 'G':
		t.positionsMatter = true
		t.emitPosition(`\A`, `\G`)
	case 'z':
		t.emitPosition(`\z`, `\z`)
	case 'Z':
		t.endOrNewline()
	case 'b':
		t.emitPosition(`\b`, wordBoundary)
	case 'B':
		t.emitPosition(`\B`, notBoundary)
	case 'K':
		t.resetStart()
	case 'R':
		t.newline()
	case 'X':
		t.emitBacktracking(`(?>\r\n|\P{M}\p{M}*|\p{M}+)`, extent{1, varies})
	}
	return true, nil
}

// resetStart writes \K: the match begins here.
func (t *translator) resetStart() {
	switch {
	case t.lookarounds > 0 && len(t.calling) > 0:
		t.lacks("\\K in a call")
	case t.lookarounds > 0:
		t.fail(phaseCompile, "\\K is not allowed in lookarounds (but see PCRE2_EXTRA_ALLOW_LOOKAROUND_BSK)")
	}
	t.positionsMatter, t.resets = true, true
	t.emitPosition("(?:)", resetGroup)
}

// quoted reads \Q…\E.
func (t *translator) quoted() {
	text, rest, closed := strings.Cut(t.src[t.pos+1:], `\E`)
	for _, r := range text {
		t.char(r)
	}
	t.pos = len(t.src)
	if closed {
		t.pos -= len(rest)
	}
}
