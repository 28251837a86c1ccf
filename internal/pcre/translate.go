package pcre

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// flags are the options that a group inherits and may change.
type flags struct {
	ignoreCase, multiline, dotAll, extended, ungreedy, noCapture bool
}

// set turns on the option of a letter of $options.
func (fl *flags) set(letter rune) bool {
	switch letter {
	case 'i':
		fl.ignoreCase = true
	case 'm':
		fl.multiline = true
	case 's':
		fl.dotAll = true
	case 'x':
		fl.extended = true
	case 'u': // UTF-8 is always on
	default:
		return false
	}
	return true
}

// translator reads a pattern and writes it for both engines.
type translator struct {
	src string
	pos int
	fl  flags

	linear, backtracking output
	linearOK             bool
	newlineMatters       bool

	groups   []group
	captures int            // seen so far
	total    int            // in the whole pattern
	names    map[string]int // of the whole pattern

	// The last atom, for quantifiers: where it starts in both outputs.
	atomLinear, atomBacktracking int
	hasAtom                      bool
	// What the pattern takes compiled by PCRE2, as far as it was read, and where the last atom begins in that.
	size, atomSize int
	atomIsGroup    bool

	literal             []byte
	isLiteral, anchored bool
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

type group struct {
	saved                flags
	linear, backtracking int
	size                 int
}

// maxGroups bounds the nesting of groups, as PCRE2 does.
const maxGroups = 250

func translate(pattern string, fl flags) (*translator, error) {
	t := &translator{src: pattern, fl: fl, linearOK: true, isLiteral: true}
	t.scanGroups()
	t.startVerbs()
	for t.pos < len(t.src) {
		if err := t.item(); err != nil {
			return nil, err
		}
	}
	if len(t.groups) > 0 {
		return nil, invalid("missing closing parenthesis")
	}
	if t.size+sizeAround > maxCompiled {
		return nil, invalid("regular expression is too large")
	}
	return t, nil
}

// scanGroups counts captures and collects names, so that references forward can be told from octal escapes.
func (t *translator) scanGroups() {
	t.names = map[string]int{}
	inClass := false
	for i := 0; i < len(t.src); i++ {
		switch c := t.src[i]; {
		case c == '\\' && strings.HasPrefix(t.src[i:], `\Q`):
			end := strings.Index(t.src[i:], `\E`)
			if end < 0 {
				return
			}
			i += end + 1
		case c == '\\':
			i++
		case inClass:
			inClass = c != ']'
		case c == '[':
			inClass = true
			if strings.HasPrefix(t.src[i+1:], "^") {
				i++
			}
			if strings.HasPrefix(t.src[i+1:], "]") {
				i++
			}
		case c == '(':
			t.scanGroup(t.src[i+1:])
		}
	}
}

func (t *translator) scanGroup(rest string) {
	if strings.HasPrefix(rest, "*") {
		return
	}
	if !strings.HasPrefix(rest, "?") {
		if !t.fl.noCapture {
			t.total++
		}
		return
	}
	if name, _, ok := groupName(rest[1:]); ok {
		t.total++
		if _, seen := t.names[name]; !seen {
			t.names[name] = t.total
		}
	}
}

// groupName reads <name>, 'name' or P<name>; n is the length of what was read.
func groupName(s string) (name string, n int, ok bool) {
	rest := strings.TrimPrefix(s, "P")
	if rest == "" {
		return "", 0, false
	}
	closing := byte('>')
	switch {
	case rest[0] == '<' && len(rest) > 1 && rest[1] != '=' && rest[1] != '!':
	case rest[0] == '\'' && len(rest) == len(s):
		closing = '\''
	default:
		return "", 0, false
	}
	end := strings.IndexByte(rest[1:], closing)
	if end < 1 || !isName(rest[1:1+end]) {
		return "", 0, false
	}
	return rest[1 : 1+end], len(s) - len(rest) + end + 2, true
}

func isName(s string) bool {
	for i, c := range s {
		if c != '_' && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return len(s) <= 32
}

// startVerbs skips the settings that may stand at the start and change nothing here.
func (t *translator) startVerbs() {
	for _, verb := range []string{"(*UTF8)", "(*UTF)", "(*LF)", "(*NO_AUTO_POSSESS)", "(*NO_START_OPT)"} {
		if strings.HasPrefix(t.src[t.pos:], verb) {
			t.pos += len(verb)
		}
	}
}

// emit writes the same to both engines as one atom.
func (t *translator) emit(s string) { t.emitBoth(s, s) }

func (t *translator) emitBoth(linear, backtracking string) {
	t.startAtom()
	t.linear.WriteString(linear)
	t.backtracking.WriteString(backtracking)
}

// emitBacktracking writes an atom that only one engine has.
func (t *translator) emitBacktracking(s string) {
	t.linearOK = false
	t.emitBoth("", s)
}

func (t *translator) startAtom() {
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

// item reads one atom, anchor, quantifier or parenthesis.
func (t *translator) item() error {
	c := t.src[t.pos]
	if t.fl.extended && t.skipExtended(c) {
		return nil
	}
	switch c {
	case '\\':
		t.pos++
		return t.escape()
	case '*', '+', '?':
		t.pos++
		t.repeat(map[byte]repeat{'*': {0, many}, '+': {1, many}, '?': {0, 1}}[c])
		return t.quantifier(string(c))
	case '{':
		return t.braces()
	}
	if strings.IndexByte("[(|).^$", c) < 0 {
		r, n := utf8.DecodeRuneInString(t.src[t.pos:])
		t.pos += n
		t.char(r)
		return nil
	}
	if c == '^' && t.pos == 0 && !t.fl.multiline {
		t.anchored = true
	} else {
		t.isLiteral = false
	}
	t.pos++
	switch c {
	case '[':
		return t.class()
	case '(':
		return t.open()
	case ')':
		return t.close()
	case '|':
		t.linear.WriteString("|")
		t.backtracking.WriteString("|")
		t.hasAtom = false
		t.size += sizeBranch
	case '.':
		t.dot()
	case '^':
		t.caret()
	case '$':
		t.dollar()
	}
	return nil
}

// skipExtended skips white space and comments of the extended syntax. A quantifier still belongs to what stands before.
func (t *translator) skipExtended(c byte) bool {
	if strings.IndexByte(" \t\n\v\f\r", c) >= 0 {
		t.pos++
		return true
	}
	if c != '#' {
		return false
	}
	end := strings.IndexByte(t.src[t.pos:], '\n')
	if end < 0 {
		t.pos = len(t.src)
	} else {
		t.pos += end + 1
	}
	return true
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
		t.emit(`\A`)
		return
	}
	t.newlineMatters = true
	t.emitBoth(`(?m:^)`, `(?:\A|(?<=\n)(?!\z))`)
}

// dollar: it matches at the end and before a newline that ends the text; in multi-line mode before every newline.
func (t *translator) dollar() {
	if t.fl.multiline {
		t.emitBoth(`(?m:$)`, `(?=\n|\z)`)
		return
	}
	t.endOrNewline()
}

func (t *translator) endOrNewline() {
	t.newlineMatters = true
	t.emitBoth(`\z`, `(?=\n?\z)`)
}

// braces reads {n}, {n,} and {n,m}; any other brace stands for itself.
func (t *translator) braces() error {
	end := strings.IndexByte(t.src[t.pos:], '}')
	if end < 0 || !isRepeat(t.src[t.pos+1:t.pos+end]) {
		t.pos++
		t.char('{')
		return nil
	}
	low, high, ranged := strings.Cut(t.src[t.pos+1:t.pos+end], ",")
	lowCount, err := strconv.Atoi(low)
	counts := repeat{lowCount, lowCount}
	if err != nil || lowCount > 65535 {
		return invalid("number too big in {} quantifier")
	}
	if ranged && high != "" {
		highCount, err := strconv.Atoi(high)
		if err != nil || highCount > 65535 {
			return invalid("number too big in {} quantifier")
		}
		if highCount < lowCount {
			return invalid("numbers out of order in {} quantifier")
		}
		counts.high = highCount
	} else if ranged {
		counts.high = many
	}
	t.repeat(counts)
	text := t.src[t.pos : t.pos+end+1]
	t.pos += end + 1
	return t.quantifier(text)
}

func isRepeat(s string) bool {
	low, high, _ := strings.Cut(s, ",")
	return low != "" && strings.Trim(low, "0123456789") == "" && strings.Trim(high, "0123456789") == ""
}

func (t *translator) quantifier(q string) error {
	if !t.hasAtom {
		return invalid("quantifier does not follow a repeatable item")
	}
	t.isLiteral = false
	lazy, possessive := t.fl.ungreedy, false
	if t.pos < len(t.src) {
		switch t.src[t.pos] {
		case '?':
			lazy = !lazy
			t.pos++
		case '+':
			possessive = true
			t.pos++
		}
	}
	if lazy && !possessive {
		q += "?"
	}
	t.linear.wrap(t.atomLinear, "(?:", ")"+q)
	t.backtracking.wrap(t.atomBacktracking, "(?:", ")"+q)
	if possessive {
		t.linearOK = false
		t.backtracking.wrap(t.atomBacktracking, "(?>", ")")
	}
	// Only a repetition with counts may be repeated again.
	t.hasAtom = q[0] == '{'
	return nil
}

// reference writes a back reference.
func (t *translator) reference(n int) error {
	if n < 1 || n > t.total {
		return invalid("reference to non-existent subpattern")
	}
	t.emitBacktracking(fmt.Sprintf(`\k<%d>`, n))
	t.size += sizeReference - sizeOp
	return nil
}

func (t *translator) namedReference(name string) error {
	if n, ok := t.names[name]; ok {
		return t.reference(n)
	}
	if n, err := strconv.Atoi(name); err == nil {
		if n < 0 {
			n += t.captures + 1
		}
		return t.reference(n)
	}
	return invalid("reference to non-existent subpattern")
}
