package pcre

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/limits"
)

const (
	wordClass    = `(?-i:[0-9A-Za-z_])`
	wordBoundary = `(?:(?<=` + wordClass + `)(?!` + wordClass + `)|(?<!` + wordClass + `)(?=` + wordClass + `))`
	notBoundary  = `(?:(?<=` + wordClass + `)(?=` + wordClass + `)|(?<!` + wordClass + `)(?!` + wordClass + `))`
)

// escape translates the text after a backslash outside a character class.
func (t *translator) escape() error {
	if t.in.pos == len(t.in.src) {
		return invalid("\\ at end of pattern")
	}
	c := t.in.src[t.in.pos]
	if isNamedCharacter(t.in.rest()) {
		return errUnsupportedEscape
	}
	if set, ok := classEscape(c); ok && !t.in.follows("N{U+") {
		t.in.pos++
		t.out.isLiteral = false
		t.out.emit("(?-i:" + set.text(false) + ")")
		return nil
	}
	switch c {
	case 'Q':
		t.quoted()
		return nil
	case 'E':
		t.in.pos++
		return nil
	case 'p', 'P':
		t.out.isLiteral = false
		text, err := t.in.property(&t.found)
		if err != nil {
			return err
		}
		t.out.emit("[" + text + "]")
		t.out.size += sizeProperty - sizeOp
		return nil
	}
	if handled, err := t.assertion(c); handled {
		t.out.isLiteral = false
		return err
	}
	if r, ok, err := t.in.charEscape(false, t.dir.captures); ok || err != nil {
		if err == nil {
			t.out.char(r)
		}
		return err
	}
	t.out.isLiteral = false
	return t.referenceEscape(c)
}

// isNamedCharacter reports whether s begins with N{name}, which PCRE2 does not support.
func isNamedCharacter(s string) bool {
	return strings.HasPrefix(s, "N{") && !strings.HasPrefix(s, "N{U+") && !isNextRepeat(s[1:])
}

// resetGroup marks the new beginning of a match after \K. resetNumber is its group number, which is
// larger than all numbers in patterns.
const (
	resetNumber = limits.PatternCaptures + 1
	resetGroup  = `(?<65536>)`
)

// assertion translates an escape that matches a position or a sequence of characters. It returns
// false for other escapes.
func (t *translator) assertion(c byte) (bool, error) {
	if strings.IndexByte("AGzZbBKRX", c) < 0 {
		return false, nil
	}
	t.in.pos++
	switch c {
	case 'A':
		t.out.emitPosition(`\A`, `\A`)
	case 'G':
		t.out.positionsMatter = true
		t.out.emitPosition(`\A`, `\G`)
	case 'z':
		t.out.emitPosition(`\z`, `\z`)
	case 'Z':
		t.out.endOrNewline()
	case 'b':
		t.out.emitPosition(`\b`, wordBoundary)
	case 'B':
		t.out.emitPosition(`\B`, notBoundary)
	case 'K':
		t.resetStart()
	case 'R':
		t.out.newline(t.bsrAnyCRLF)
	case 'X':
		t.out.emitBacktracking(`(?>\r\n|\P{M}\p{M}*|\p{M}+)`, extent{1, varies})
	}
	return true, nil
}

// resetStart writes \K, which moves the beginning of the match to this position.
func (t *translator) resetStart() {
	switch {
	case t.lookarounds > 0 && len(t.dir.calling) > 0:
		t.found.lacks("\\K in a call")
	case t.lookarounds > 0:
		t.found.fail(phaseCompile, "\\K is not allowed in lookarounds (but see PCRE2_EXTRA_ALLOW_LOOKAROUND_BSK)")
	}
	t.out.positionsMatter, t.out.resets = true, true
	t.out.emitPosition("(?:)", resetGroup)
}

// quoted translates \Q…\E.
func (t *translator) quoted() {
	text, rest, closed := strings.Cut(t.in.src[t.in.pos+1:], `\E`)
	for _, r := range text {
		t.out.char(r)
	}
	t.in.pos = len(t.in.src)
	if closed {
		t.in.pos -= len(rest)
	}
}
