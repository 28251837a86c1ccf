package pcre

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// charSet is a set of characters. It consists of ranges, and of properties in the syntax that a
// character class uses.
type charSet struct {
	ranges     [][2]rune
	properties string
}

func (s *charSet) add(low, high rune) { s.ranges = append(s.ranges, [2]rune{low, high}) }

func (s *charSet) union(other charSet) {
	s.ranges = append(s.ranges, other.ranges...)
	s.properties += other.properties
}

// complement returns the complement of a set, which must not contain properties.
func (s charSet) complement() charSet {
	ranges := slices.Clone(s.ranges)
	slices.SortFunc(ranges, func(a, b [2]rune) int { return int(a[0] - b[0]) })
	var out charSet
	next := rune(0)
	for _, r := range ranges {
		if r[0] > next {
			out.add(next, r[0]-1)
		}
		next = max(next, r[1]+1)
	}
	if next <= unicode.MaxRune {
		out.add(next, unicode.MaxRune)
	}
	return out
}

// text returns the set as a character class that has the same meaning in both engines.
func (s charSet) text(negated bool) string {
	var b strings.Builder
	b.WriteByte('[')
	if negated {
		b.WriteByte('^')
	}
	for _, r := range s.ranges {
		b.WriteString(quoteInClass(r[0]))
		if r[1] > r[0] {
			b.WriteByte('-')
			b.WriteString(quoteInClass(r[1]))
		}
	}
	b.WriteString(s.properties)
	b.WriteByte(']')
	return b.String()
}

func quoteInClass(r rune) string {
	if strings.ContainsRune(`\]^-[`, r) {
		return `\` + string(r)
	}
	// Surrogates are not characters. Another character is used instead.
	if r >= 0xd800 && r <= 0xdfff {
		return "\ue000"
	}
	return string(r)
}

var (
	digitSet      = charSet{ranges: [][2]rune{{'0', '9'}}}
	wordSet       = charSet{ranges: [][2]rune{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}}
	spaceSet      = charSet{ranges: [][2]rune{{'\t', '\r'}, {' ', ' '}}}
	horizontalSet = charSet{ranges: [][2]rune{
		{'\t', '\t'},
		{' ', ' '},
		{0xa0, 0xa0},
		{0x1680, 0x1680},
		{0x180e, 0x180e},
		{0x2000, 0x200a},
		{0x202f, 0x202f},
		{0x205f, 0x205f},
		{0x3000, 0x3000},
	}}
	verticalSet = charSet{ranges: [][2]rune{{'\n', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}}}
	newlineSet  = charSet{ranges: [][2]rune{{'\n', '\n'}}}
)

// classEscape returns the set that an escape such as \d stands for.
func classEscape(c byte) (charSet, bool) {
	switch c {
	case 'd':
		return digitSet, true
	case 'D':
		return digitSet.complement(), true
	case 'w':
		return wordSet, true
	case 'W':
		return wordSet.complement(), true
	case 's':
		return spaceSet, true
	case 'S':
		return spaceSet.complement(), true
	case 'h':
		return horizontalSet, true
	case 'H':
		return horizontalSet.complement(), true
	case 'v':
		return verticalSet, true
	case 'V':
		return verticalSet.complement(), true
	case 'N':
		return newlineSet.complement(), true
	default:
		return charSet{}, false
	}
}

var posixClasses = map[string]charSet{
	"alnum":  {ranges: [][2]rune{{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
	"alpha":  {ranges: [][2]rune{{'A', 'Z'}, {'a', 'z'}}},
	"ascii":  {ranges: [][2]rune{{0, 0x7f}}},
	"blank":  {ranges: [][2]rune{{'\t', '\t'}, {' ', ' '}}},
	"cntrl":  {ranges: [][2]rune{{0, 0x1f}, {0x7f, 0x7f}}},
	"digit":  digitSet,
	"graph":  {ranges: [][2]rune{{0x21, 0x7e}}},
	"lower":  {ranges: [][2]rune{{'a', 'z'}}},
	"print":  {ranges: [][2]rune{{0x20, 0x7e}}},
	"punct":  {ranges: [][2]rune{{0x21, 0x2f}, {0x3a, 0x40}, {0x5b, 0x60}, {0x7b, 0x7e}}},
	"space":  spaceSet,
	"upper":  {ranges: [][2]rune{{'A', 'Z'}}},
	"word":   wordSet,
	"xdigit": {ranges: [][2]rune{{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
}

// wordEdges contains the two classes for the beginning and the end of a word. The value is an
// assertion that must be true at the word boundary.
var wordEdges = map[string]string{
	"[[:<:]]": `(?=` + wordClass + `)`,
	"[[:>:]]": `(?<=` + wordClass + `)`,
}

// posixName parses a name such as [:alpha:]. kind is the colon, dot or equals sign around the name,
// or 0 if s does not begin with such a name.
func posixName(s string) (name string, kind byte) {
	if len(s) < 2 || strings.IndexByte(":.=", s[1]) < 0 {
		return "", 0
	}
	for i := 2; i+1 < len(s); i++ {
		switch {
		case s[i] == '\\' && (s[i+1] == ']' || s[i+1] == '\\'):
			i++
		case s[i] == '[' && s[i+1] == s[1], s[i] == ']':
			return "", 0
		case s[i] == s[1] && s[i+1] == ']':
			return s[2:i], s[1]
		}
	}
	return "", 0
}

// class translates a character class. Its opening bracket was already read.
func (t *translator) class() error {
	bracket := t.in.src[t.in.pos-1:]
	switch _, kind := posixName(bracket); {
	case kind == ':':
		return invalid("POSIX named classes are supported only within a class")
	case kind != 0:
		return errCollating
	}
	if wordEdge, ok := wordEdges[bracket[:min(len(bracket), len("[[:<:]]"))]]; ok {
		t.in.pos += len("[:<:]]")
		t.out.wordEdge(wordEdge)
		return nil
	}
	c := classReader{in: &t.in, found: &t.found, extended: t.fl.extendedMore}
	negated, err := c.read()
	if err != nil {
		return err
	}
	t.out.emit(c.set.text(negated))
	t.out.size += c.set.size() - sizeOp
	return nil
}

// classReader parses one character class.
type classReader struct {
	in    *scanner
	found *findings
	set   charSet
	// extended is true if white space is ignored.
	extended bool
	quoting  bool // the position is between \Q and \E
}

// read parses the class up to its closing bracket, and reports whether it is negated.
func (c *classReader) read() (negated bool, err error) {
	c.skip()
	if negated = c.follows("^"); negated {
		c.in.pos++
		c.skip()
	}
	for first := true; ; first = false {
		c.skip()
		if c.in.pos >= len(c.in.src) {
			return false, errUnclosedClass
		}
		if c.follows("]") && !first {
			c.in.pos++
			return negated, nil
		}
		if err := c.item(); err != nil {
			return false, err
		}
	}
}

// item parses a character, a range or a set.
func (c *classReader) item() error {
	low, isChar, err := c.member()
	switch {
	case err != nil:
		return err
	case !isChar && c.follows("-") && !c.follows("-]"):
		return errClassRange
	case !isChar:
		return nil
	}
	c.skip()
	if !c.follows("-") {
		c.set.add(low, low)
		return nil
	}
	c.in.pos++
	c.skip()
	if c.in.pos == len(c.in.src) {
		return errUnclosedClass
	}
	if c.follows("]") {
		c.set.add(low, low)
		c.set.add('-', '-')
		return nil
	}
	if name, kind := posixName(c.in.rest()); kind == ':' && name != "" && !c.quoting {
		return errClassRange
	}
	high, isChar, err := c.member()
	switch {
	case err != nil:
		return err
	case !isChar:
		return errClassRange
	case high < low:
		return invalid("range out of order in character class")
	default:
		c.set.add(low, high)
	}
	return nil
}

// follows reports whether the given text comes next and is not quoted.
func (c *classReader) follows(text string) bool { return !c.quoting && c.in.follows(text) }

// skip skips text that stands for no character: \Q and \E, and white space in the extended syntax.
func (c *classReader) skip() {
	for {
		switch {
		case c.in.follows(`\E`):
			c.quoting = false
			c.in.pos += len(`\E`)
		case c.follows(`\Q`):
			c.quoting = true
			c.in.pos += len(`\Q`)
		case c.extended && (c.follows(" ") || c.follows("\t")):
			c.in.pos++
		default:
			return
		}
	}
}

// member parses a character. If it finds a set instead, it adds the set to the class and returns
// false.
func (c *classReader) member() (rune, bool, error) {
	rest := c.in.rest()
	if c.quoting {
		r, n := utf8.DecodeRuneInString(rest)
		c.in.pos += n
		return r, true, nil
	}
	switch name, kind := posixName(rest); {
	case kind == ':':
		c.in.pos += len(name) + len("[::]")
		return 0, false, addPosix(&c.set, name)
	case kind != 0:
		return 0, false, errCollating
	}
	if rest[0] != '\\' {
		r, n := utf8.DecodeRuneInString(rest)
		c.in.pos += n
		return r, true, nil
	}
	c.in.pos++
	if c.in.pos == len(c.in.src) {
		return 0, false, invalid("\\ at end of pattern")
	}
	return c.escape()
}

// escape parses the text after a backslash.
func (c *classReader) escape() (rune, bool, error) {
	rest := c.in.rest()
	if isNamedCharacter(rest) {
		return 0, false, errUnsupportedEscape
	}
	letter := rest[0]
	if other, ok := classEscape(letter); ok && !strings.HasPrefix(rest, "N{U+") {
		if letter == 'N' {
			return 0, false, invalid("\\N is not supported in a class")
		}
		c.in.pos++
		c.set.union(other)
		return 0, false, nil
	}
	if letter == 'p' || letter == 'P' {
		text, err := c.in.property(c.found)
		c.set.properties += text
		return 0, false, err
	}
	r, ok, err := c.in.charEscape(true, 0)
	if err == nil && !ok {
		err = unknownClassEscape(letter)
	}
	return r, ok, err
}

func addPosix(set *charSet, name string) error {
	name, negated := strings.CutPrefix(name, "^")
	other, ok := posixClasses[name]
	if !ok {
		return invalid("unknown POSIX class name")
	}
	if negated {
		other = other.complement()
	}
	set.union(other)
	return nil
}
