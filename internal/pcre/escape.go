package pcre

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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
	if set, ok := classEscape(c); ok {
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

// assertion reads the escapes that stand for a position or for a sequence.
func (t *translator) assertion(c byte) (bool, error) {
	if strings.IndexByte("AGzZbBKRX", c) < 0 {
		return false, nil
	}
	t.pos++
	switch c {
	case 'A', 'G':
		t.emit(`\A`)
	case 'z':
		t.emit(`\z`)
	case 'Z':
		t.endOrNewline()
	case 'b':
		t.emitBoth(`\b`, wordBoundary)
	case 'B':
		t.emitBoth(`\B`, notBoundary)
	case 'K': // changes where the match starts, which nobody asks for
		t.emit(`(?:)`)
	case 'R':
		t.emitBacktracking(`(?>\r\n|[\n-\r` + "\u0085\u2028\u2029" + `])`)
	case 'X':
		t.emitBacktracking(`(?>\r\n|\P{M}\p{M}*|\p{M}+)`)
	}
	return true, nil
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

// property reads \p{Name}, \P{Name}, \p{^Name} and \pL; the result stands within a class.
func (t *translator) property() (string, error) {
	negated := t.src[t.pos] == 'P'
	t.pos++
	if t.pos == len(t.src) {
		return "", invalid("malformed \\P or \\p sequence")
	}
	name := t.src[t.pos : t.pos+1]
	t.pos++
	if name == "{" {
		end := strings.IndexByte(t.src[t.pos:], '}')
		if end < 0 {
			return "", invalid("malformed \\P or \\p sequence")
		}
		name = t.src[t.pos : t.pos+end]
		t.pos += end + 1
	}
	if rest, ok := strings.CutPrefix(name, "^"); ok {
		name, negated = rest, !negated
	}
	_, category := unicode.Categories[name]
	_, script := unicode.Scripts[name]
	switch {
	case name == "L&":
		if negated {
			return "", notImplemented("\\P{L&}")
		}
		return `\p{Lu}\p{Ll}\p{Lt}`, nil
	case name == "Any":
		if negated {
			return "", notImplemented("\\P{Any}")
		}
		return "\x00-\U0010FFFF", nil
	case !category && !script:
		return "", invalid("unknown property after \\P or \\p")
	case negated:
		return `\P{` + name + `}`, nil
	}
	return `\p{` + name + `}`, nil
}

// charEscape reads an escape that stands for one character.
func (t *translator) charEscape(inClass bool) (rune, bool, error) {
	c := t.src[t.pos]
	if at := strings.IndexByte("aefnrt", c); at >= 0 {
		t.pos++
		return rune("\a\x1b\f\n\r\t"[at]), true, nil
	}
	switch {
	case c == 'b' && inClass:
		t.pos++
		return '\b', true, nil
	case c == 'c':
		return t.controlChar()
	case c == 'x':
		return t.hexChar()
	case c == 'o':
		return t.bracedNumber(8)
	case c == '0', c >= '1' && c <= '9' && (inClass || t.isOctal()):
		return t.octalChar()
	case c >= 0x80:
		r, n := utf8.DecodeRuneInString(t.src[t.pos:])
		t.pos += n
		return r, true, nil
	case c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z':
		return 0, false, nil
	}
	t.pos++
	return rune(c), true, nil
}

func (t *translator) controlChar() (rune, bool, error) {
	if t.pos+1 >= len(t.src) || t.src[t.pos+1] < 0x20 || t.src[t.pos+1] > 0x7e {
		return 0, false, invalid("\\c must be followed by a printable ASCII character")
	}
	c := t.src[t.pos+1]
	if c >= 'a' && c <= 'z' {
		c -= 'a' - 'A'
	}
	t.pos += 2
	return rune(c ^ 0x40), true, nil
}

func (t *translator) hexChar() (rune, bool, error) {
	if strings.HasPrefix(t.src[t.pos:], "x{") {
		return t.bracedNumber(16)
	}
	t.pos++
	n := digits(t.src[t.pos:], 16, 2)
	code, _ := strconv.ParseUint("0"+t.src[t.pos:t.pos+n], 16, 32)
	t.pos += n
	return rune(code), true, nil
}

// bracedNumber reads x{…} and o{…}.
func (t *translator) bracedNumber(base int) (rune, bool, error) {
	end := strings.IndexByte(t.src[t.pos:], '}')
	if end < 0 || !strings.HasPrefix(t.src[t.pos+1:], "{") {
		return 0, false, invalid("missing terminating } or invalid number")
	}
	code, err := strconv.ParseUint(strings.TrimSpace(t.src[t.pos+2:t.pos+end]), base, 32)
	if err != nil {
		return 0, false, invalid("non-hex or non-octal character in \\x{} or \\o{}")
	}
	if code > unicode.MaxRune || code >= 0xd800 && code <= 0xdfff {
		return 0, false, invalid("character code point value in \\x{} or \\o{} is too large")
	}
	t.pos += end + 1
	return rune(code), true, nil
}

// isOctal tells an octal escape from a back reference: PCRE takes numbers below 8, and those of existing groups, as
// references.
func (t *translator) isOctal() bool {
	n := digits(t.src[t.pos:], 10, 9)
	number, _ := strconv.Atoi(t.src[t.pos : t.pos+n])
	return number >= 10 && number > t.total && t.src[t.pos] < '8'
}

func (t *translator) octalChar() (rune, bool, error) {
	if t.src[t.pos] >= '8' { // within a class, \8 and \9 are the digits
		t.pos++
		return rune(t.src[t.pos-1]), true, nil
	}
	n := digits(t.src[t.pos:], 8, 3)
	code, _ := strconv.ParseUint(t.src[t.pos:t.pos+n], 8, 32)
	t.pos += n
	return rune(code), true, nil
}

func digits(s string, base, limit int) int {
	n := 0
	for n < len(s) && n < limit {
		if _, err := strconv.ParseUint(s[n:n+1], base, 8); err != nil {
			break
		}
		n++
	}
	return n
}

// referenceEscape reads \1, \g{1}, \g{-1}, \g{name}, \k<name>, \k'name' and \k{name}.
func (t *translator) referenceEscape(c byte) error {
	if c >= '1' && c <= '9' {
		n := digits(t.src[t.pos:], 10, 9)
		number, _ := strconv.Atoi(t.src[t.pos : t.pos+n])
		t.pos += n
		return t.reference(number)
	}
	if c != 'g' && c != 'k' {
		return invalid("unrecognized character follows \\")
	}
	t.pos++
	if t.pos == len(t.src) {
		return invalid("a reference must be followed by a name or number")
	}
	opening := t.src[t.pos]
	if c == 'g' && (opening == '<' || opening == '\'') {
		return notImplemented("a subroutine call")
	}
	if at := strings.IndexByte("{<'", opening); at >= 0 {
		end := strings.IndexByte(t.src[t.pos+1:], "}>'"[at])
		if end < 0 {
			return invalid("syntax error in subpattern name (missing terminator?)")
		}
		name := t.src[t.pos+1 : t.pos+1+end]
		t.pos += end + 2
		return t.namedReference(name)
	}
	n := 0
	if opening == '-' || opening == '+' {
		n = 1
	}
	n += digits(t.src[t.pos+n:], 10, 9)
	name := t.src[t.pos : t.pos+n]
	t.pos += n
	return t.namedReference(name)
}
