package pcre

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/limits"
)

// scanner parses the elements of a pattern: characters, numbers and names.
type scanner struct {
	src string
	pos int
}

// rest returns the text after the current position.
func (s *scanner) rest() string { return s.src[s.pos:] }

// follows reports whether the given text comes next.
func (s *scanner) follows(text string) bool { return strings.HasPrefix(s.src[s.pos:], text) }

// property parses \p{Name}, \P{Name}, \p{^Name} and \pL. Its result can be used in a class.
func (s *scanner) property(found *findings) (string, error) {
	negated := s.src[s.pos] == 'P'
	s.pos++
	if s.pos == len(s.src) {
		return "", invalid("malformed \\P or \\p sequence")
	}
	name := s.src[s.pos : s.pos+1]
	s.pos++
	if c := name[0] | 0x20; name != "{" && (c < 'a' || c > 'z') {
		return "", invalid("malformed \\P or \\p sequence")
	}
	if name == "{" {
		end := strings.IndexByte(s.rest(), '}')
		if end < 0 {
			return "", invalid("malformed \\P or \\p sequence")
		}
		name = s.src[s.pos : s.pos+end]
		s.pos += end + 1
	}
	if rest, ok := strings.CutPrefix(name, "^"); ok {
		name, negated = rest, !negated
	}
	text, ok := properties()[looseName(name)]
	switch {
	case !ok && otherProperty.MatchString(looseName(name)):
		found.lacks("this property")
	case !ok:
		return "", invalid("unknown property after \\P or \\p")
	case negated && strings.LastIndexByte(text, '\\') > 0:
		found.lacks("\\P{" + name + "}")
	case negated:
		return `\P` + text[len(`\p`):], nil
	}
	return text, nil
}

// otherProperty matches frequent properties that PCRE2 knows and the engines do not support.
var otherProperty = regexp.MustCompile(`^(?:(?:sc|scx|script|scriptextensions|bc|bidiclass)[:=].+` +
	`|alpha|alphabetic|lower|lowercase|upper|uppercase|whitespace|wspace|space|cased|emoji|ideographic|hexdigit|xps|xsp|xuc)$`)

// properties maps the loose name of each category and script to its form in a class.
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

// looseName removes the characters of a property's name that PCRE2 ignores.
func looseName(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "", "_", "").Replace(name))
}

// charEscape parses an escape that stands for one character. captures is how many groups were
// opened before it.
func (s *scanner) charEscape(inClass bool, captures int) (rune, bool, error) {
	c := s.src[s.pos]
	if at := strings.IndexByte("aefnrt", c); at >= 0 {
		s.pos++
		return rune("\a\x1b\f\n\r\t"[at]), true, nil
	}
	switch {
	case c == 'b' && inClass:
		s.pos++
		return '\b', true, nil
	case c == 'c':
		return s.controlChar()
	case c == 'x':
		return s.hexChar()
	case c == 'o':
		return s.octalNumber()
	case s.follows("N{U+"):
		s.pos += len("N{U+")
		return s.codePoint(16)
	case strings.IndexByte("FLlUu", c) >= 0:
		return 0, false, errUnsupportedEscape
	case c == 'g' && inClass:
		s.pos++
		return 'g', true, nil
	case c == '0', c >= '1' && c <= '9' && (inClass || s.isOctal(captures)):
		return s.octalChar()
	case c >= 0x80:
		r, n := utf8.DecodeRuneInString(s.rest())
		s.pos += n
		return r, true, nil
	case c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z':
		return 0, false, nil
	}
	s.pos++
	return rune(c), true, nil
}

func (s *scanner) controlChar() (rune, bool, error) {
	if s.pos+1 == len(s.src) {
		return 0, false, invalid("\\c at end of pattern")
	}
	if s.src[s.pos+1] < 0x20 || s.src[s.pos+1] > 0x7e {
		return 0, false, invalid("\\c must be followed by a printable ASCII character")
	}
	c := s.src[s.pos+1]
	if c >= 'a' && c <= 'z' {
		c -= 'a' - 'A'
	}
	s.pos += 2
	return rune(c ^ 0x40), true, nil
}

func (s *scanner) hexChar() (rune, bool, error) {
	if s.follows("x{") {
		s.pos += len("x{")
		return s.codePoint(16)
	}
	s.pos++
	n := digits(s.rest(), 16, 2)
	code, _ := strconv.ParseUint("0"+s.src[s.pos:s.pos+n], 16, 32)
	s.pos += n
	return rune(code), true, nil
}

func (s *scanner) octalNumber() (rune, bool, error) {
	if !s.follows("o{") {
		return 0, false, invalid("missing opening brace after \\o")
	}
	s.pos += len("o{")
	return s.codePoint(8)
}

// codePoint parses digits and the closing brace after them.
func (s *scanner) codePoint(base int) (rune, bool, error) {
	rest := s.rest()
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
	s.pos += n + 1
	return rune(code), true, nil
}

// maxReference is the largest number that PCRE2 accepts as a back reference.
const maxReference = math.MaxInt32/10 - 1

// isOctal reports whether a number after a backslash is an octal escape and not a back reference.
// In PCRE2, a number up to maxReference is a reference if it is below 10, begins with 8 or 9, or is
// the number of a group opened before.
func (s *scanner) isOctal(captures int) bool {
	number := atoi(s.src[s.pos : s.pos+digits(s.rest(), 10, len(s.src))])
	return number > maxReference || number >= 10 && number > captures && s.src[s.pos] < '8'
}

func (s *scanner) octalChar() (rune, bool, error) {
	if s.src[s.pos] >= '8' { // \8 and \9 stand for the digits if they are not references
		s.pos++
		return rune(s.src[s.pos-1]), true, nil
	}
	n := digits(s.rest(), 8, 3)
	code, _ := strconv.ParseUint(s.src[s.pos:s.pos+n], 8, 32)
	s.pos += n
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

// name parses a group's name and the character that ends it.
func (s *scanner) name(terminator byte) (string, error) {
	rest := s.rest()
	n := 0
	for i, c := range rest {
		if i == 0 && unicode.Is(unicode.Nd, c) {
			return "", invalid("subpattern name must start with a non-digit")
		}
		if c != '_' && !unicode.IsLetter(c) && !unicode.Is(unicode.Nd, c) {
			break
		}
		n = i + utf8.RuneLen(c)
	}
	switch {
	case n > limits.GroupNameCharacters:
		return "", invalid("subpattern name is too long (maximum 32 code units)")
	case n == 0:
		return "", invalid("subpattern name expected")
	case n == len(rest) || rest[n] != terminator:
		return "", invalid("syntax error in subpattern name (missing terminator?)")
	}
	s.pos += n + 1
	return rest[:n], nil
}

// number parses the number of a group. A number with a sign is relative to captures, which is how
// many groups there are so far.
func (s *scanner) number(signed bool, captures int) (n int, ok bool, err error) {
	rest := s.rest()
	sign := byte(0)
	if signed && rest != "" && (rest[0] == '-' || rest[0] == '+') {
		sign, rest = rest[0], rest[1:]
		s.pos++
	}
	length := digits(rest, 10, len(rest))
	if length == 0 {
		return 0, false, nil
	}
	s.pos += length
	n = atoi(rest[:length])
	switch {
	case n > limits.PatternCaptures || sign == '+' && n+captures > limits.PatternCaptures:
		return 0, false, invalid("subpattern number is too big")
	case sign != 0 && n == 0:
		return 0, false, invalid("a relative value of zero is not allowed")
	case sign == '+':
		n += captures
	case sign == '-' && n > captures:
		return 0, false, errNoGroup
	case sign == '-':
		n = captures - n + 1
	}
	return n, true, nil
}

// atoi converts digits to a number. If the number is too large for an int, it returns the largest
// int.
func atoi(s string) int {
	n, _ := strconv.Atoi("0" + s)
	return n
}

// skipExtended skips white space and comments of the extended syntax. A quantifier after them still
// applies to the atom before them.
func (s *scanner) skipExtended() bool {
	n := extendedSpace(s.rest())
	s.pos += n
	return n > 0
}

// extendedSpace returns how many bytes at the start of a pattern the extended syntax ignores, as
// white space or as a comment.
func extendedSpace(pattern string) int {
	r, n := utf8.DecodeRuneInString(pattern)
	switch r {
	case ' ', '\t', '\n', '\v', '\f', '\r', '\u0085', '\u200e', '\u200f', '\u2028', '\u2029':
		return n
	case '#':
		if end := strings.IndexByte(pattern, '\n'); end >= 0 {
			return end + 1
		}
		return len(pattern)
	default:
		return 0
	}
}

func isRepeat(s string) bool {
	low, high, _ := strings.Cut(s, ",")
	return low != "" && strings.Trim(low, "0123456789") == "" && strings.Trim(high, "0123456789") == ""
}

// skipNothing skips text that may stand between a quantifier and a character that makes it lazy or
// possessive.
func (s *scanner) skipNothing(extended bool) {
	for n := -1; n != 0; s.pos += n {
		n = Nothing(s.rest(), extended)
	}
}

// Nothing returns how many bytes at the start of a pattern are a comment, an empty quotation, or
// white space of the extended syntax. A quantifier after them applies to the atom before them.
func Nothing(pattern string, extended bool) int {
	switch {
	case strings.HasPrefix(pattern, "(?#"):
		return strings.IndexByte(pattern, ')') + 1
	case strings.HasPrefix(pattern, `\E`):
		return len(`\E`)
	case strings.HasPrefix(pattern, `\Q\E`):
		return len(`\Q\E`)
	case extended:
		return extendedSpace(pattern)
	default:
		return 0
	}
}

// isNextRepeat reports whether s begins with counts in braces.
func isNextRepeat(s string) bool {
	end := strings.IndexByte(s, '}')
	return end > 0 && isRepeat(s[1:end])
}
