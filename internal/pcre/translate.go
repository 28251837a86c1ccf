package pcre

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// flags are the options that a group takes over from its parent and may change.
type flags struct {
	ignoreCase, multiline, dotAll, extended, ungreedy, noCapture bool
	// extendedMore is true if white space in classes is ignored, too.
	extendedMore   bool
	duplicateNames bool
}

// set turns on the flag for a letter of $options.
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

// translator parses a pattern and writes it for both engines.
type translator struct {
	in    scanner
	out   emitter
	dir   directory
	found findings

	fl     flags
	groups []group // the open groups
	// expectsAssertion is 2 at the beginning of a condition that must be an assertion. After a
	// callout there, it is 1.
	expectsAssertion int
	lookarounds      int    // how many lookarounds are open
	bsrAnyCRLF       bool   // \R matches only CR, LF and CRLF
	whole            extent // extent of the finished branches of the whole pattern
	wholeBranches    int
}

// newTranslator returns a translator for a pattern. known lists the groups of the pattern. It is
// nil in the first pass.
func newTranslator(pattern string, known *directory) *translator {
	t := &translator{in: scanner{src: pattern}, out: emitter{linearOK: true, isLiteral: true}}
	t.dir.known, t.dir.found = known, &t.found
	return t
}

// translate translates a pattern. If the pattern refers to its groups, it is translated twice,
// because the first pass does not know all groups.
func translate(pattern string, fl flags) (*translator, error) {
	t, err := read(pattern, fl, nil)
	if err == nil && t.dir.refers {
		t, err = read(pattern, fl, &t.dir)
	}
	if err != nil {
		return nil, err
	}
	t.whole = t.whole.or(t.out.branch, t.wholeBranches)
	return t, t.found.judge()
}

func read(pattern string, fl flags, known *directory) (*translator, error) {
	t := newTranslator(pattern, known)
	t.fl = fl
	t.startVerbs()
	for t.in.pos < len(t.in.src) {
		if err := t.item(); err != nil {
			return nil, err
		}
	}
	if len(t.groups) > 0 {
		return nil, invalid("missing closing parenthesis")
	}
	if t.out.size+sizeAround > maxCompiled {
		t.found.fail(phaseCompile, "regular expression is too large")
	}
	return t, nil
}

// item translates one atom, anchor, quantifier or parenthesis.
func (t *translator) item() error {
	c := t.in.src[t.in.pos]
	if t.fl.extended && t.in.skipExtended() {
		return nil
	}
	if t.in.follows("(?#") {
		return t.comment()
	}
	expects := t.expectsAssertion
	if expects > 0 && !beginsAssertion(t.in.rest(), expects == 2) {
		return errNoAssertion
	}
	t.expectsAssertion = 0
	switch c {
	case '\\':
		t.in.pos++
		return t.escape()
	case '*', '+', '?':
		t.in.pos++
		return t.quantifier(string(c), map[byte]repeat{'*': {0, many}, '+': {1, many}, '?': {0, 1}}[c])
	case '{':
		return t.braces()
	}
	if strings.IndexByte("[(|).^$", c) < 0 {
		r, n := utf8.DecodeRuneInString(t.in.rest())
		t.in.pos += n
		t.out.char(r)
		return nil
	}
	if c == '^' && t.in.pos == 0 && !t.fl.multiline {
		t.out.anchored = true
	} else {
		t.out.isLiteral = false
	}
	t.in.pos++
	switch c {
	case '[':
		return t.class()
	case '(':
		return t.open(expects)
	case ')':
		return t.close()
	case '|':
		t.alternative()
	case '.':
		t.out.dot(t.fl.dotAll)
	case '^':
		t.out.caret(t.fl.multiline)
	case '$':
		t.out.dollar(t.fl.multiline)
	}
	return nil
}

// braces parses {n}, {n,} and {n,m}. Any other brace is a literal character.
func (t *translator) braces() error {
	end := strings.IndexByte(t.in.rest(), '}')
	if end < 0 || !isRepeat(t.in.src[t.in.pos+1:t.in.pos+end]) {
		t.in.pos++
		t.out.char('{')
		return nil
	}
	low, high, ranged := strings.Cut(t.in.src[t.in.pos+1:t.in.pos+end], ",")
	text := fmt.Sprintf("{%d}", atoi(low))
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
		text = fmt.Sprintf("{%d,%d}", lowCount, highCount)
	} else if ranged {
		counts.high = many
		text = fmt.Sprintf("{%d,}", lowCount)
	}
	t.in.pos += end + 1
	return t.quantifier(text, counts)
}

func (t *translator) quantifier(q string, counts repeat) error {
	if !t.out.hasAtom {
		return errUnrepeatable
	}
	t.in.skipNothing(t.fl.extended)
	lazy, possessive := t.fl.ungreedy, false
	if t.in.pos < len(t.in.src) {
		switch t.in.src[t.in.pos] {
		case '?':
			lazy = !lazy
			t.in.pos++
		case '+':
			possessive = true
			t.in.pos++
		}
	}
	t.out.quantify(q, counts, lazy, possessive)
	return nil
}
