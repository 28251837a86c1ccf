package pcre

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
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

// newline writes \R.
func (t *translator) newline() {
	lines := `(?>\r\n|[\n-\r` + "\u0085\u2028\u2029" + `])`
	if t.bsrAnyCRLF {
		lines = `(?>\r\n|\n|\r)`
	}
	t.emitBacktracking(lines, extent{1, varies})
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
	if c := name[0] | 0x20; name != "{" && (c < 'a' || c > 'z') {
		return "", invalid("malformed \\P or \\p sequence")
	}
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
	text, ok := properties()[looseName(name)]
	switch {
	case !ok && otherProperty.MatchString(looseName(name)):
		t.lacks("this property")
	case !ok:
		return "", invalid("unknown property after \\P or \\p")
	case negated && strings.LastIndexByte(text, '\\') > 0:
		t.lacks("\\P{" + name + "}")
	case negated:
		return `\P` + text[len(`\p`):], nil
	}
	return text, nil
}

// otherProperty matches the loose names of the commonest properties that the engines do not have.
var otherProperty = regexp.MustCompile(`^(?:(?:sc|scx|script|scriptextensions|bc|bidiclass)[:=].+` +
	`|alpha|alphabetic|lower|lowercase|upper|uppercase|whitespace|wspace|space|cased|emoji|ideographic|hexdigit|xps|xsp|xuc)$`)

// properties maps the loose names of categories and scripts to what stands for them in a class.
var properties = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, tables := range []map[string]*unicode.RangeTable{unicode.Categories, unicode.Scripts} {
		for name := range tables {
			all[looseName(name)] = `\p{` + name + `}`
		}
	}
	all["any"] = `\x00-\x{10FFFF}`
	all["l&"] = `\p{Lu}\p{Ll}\p{Lt}`
	all["lc"] = all["l&"]
	all["xan"] = `\p{L}\p{N}`
	all["xwd"] = `\p{L}\p{N}_`
	return all
})

// looseName writes a property's name without what PCRE does not look at.
func looseName(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "", "_", "").Replace(name))
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
		return t.octalNumber()
	case strings.HasPrefix(t.src[t.pos:], "N{U+"):
		t.pos += len("N{U+")
		return t.codePoint(16)
	case strings.IndexByte("FLlUu", c) >= 0:
		return 0, false, errUnsupportedEscape
	case c == 'g' && inClass:
		t.pos++
		return 'g', true, nil
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
	if t.pos+1 == len(t.src) {
		return 0, false, invalid("\\c at end of pattern")
	}
	if t.src[t.pos+1] < 0x20 || t.src[t.pos+1] > 0x7e {
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
		t.pos += len("x{")
		return t.codePoint(16)
	}
	t.pos++
	n := digits(t.src[t.pos:], 16, 2)
	code, _ := strconv.ParseUint("0"+t.src[t.pos:t.pos+n], 16, 32)
	t.pos += n
	return rune(code), true, nil
}

func (t *translator) octalNumber() (rune, bool, error) {
	if !strings.HasPrefix(t.src[t.pos:], "o{") {
		return 0, false, invalid("missing opening brace after \\o")
	}
	t.pos += len("o{")
	return t.codePoint(8)
}

// codePoint reads digits and the closing brace behind them.
func (t *translator) codePoint(base int) (rune, bool, error) {
	rest := t.src[t.pos:]
	n := digits(rest, base, len(rest))
	code, err := strconv.ParseUint("0"+rest[:n], base, 32)
	switch {
	case rest == "" || rest[0] == '}':
		return 0, false, invalid("digits missing in \\x{} or \\o{} or \\N{U+}")
	case err != nil || code > unicode.MaxRune:
		return 0, false, invalid("character code point value in \\x{} or \\o{} is too large")
	case n == len(rest) || rest[n] != '}':
		if base == 8 {
			return 0, false, invalid("non-octal character in \\o{} (closing brace missing?)")
		}
		return 0, false, invalid("non-hex character in \\x{} (closing brace missing?)")
	case code >= 0xd800 && code <= 0xdfff:
		return 0, false, invalid("disallowed Unicode code point (>= 0xd800 && <= 0xdfff)")
	}
	t.pos += n + 1
	return rune(code), true, nil
}

// maxReference is the largest number that PCRE reads as a back reference.
const maxReference = math.MaxInt32/10 - 1

// isOctal tells an octal escape from a back reference: PCRE takes numbers below 10, and those of
// the groups before, as references.
func (t *translator) isOctal() bool {
	number := atoi(t.src[t.pos : t.pos+digits(t.src[t.pos:], 10, len(t.src))])
	return number > maxReference || number >= 10 && number > t.captures && t.src[t.pos] < '8'
}

func (t *translator) octalChar() (rune, bool, error) {
	if t.src[t.pos] >= '8' { // \8 and \9 that are no references are the digits
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
