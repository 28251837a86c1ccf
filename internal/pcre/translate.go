package pcre

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// flags are the options that a group inherits and may change.
type flags struct {
	ignoreCase, multiline, dotAll, extended, ungreedy, noCapture bool
	extendedMore                                                 bool // white space in classes too
	duplicateNames                                               bool
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
	opened   int // groups and references so far
	captures int // seen so far
	names    names
	// known has the groups of the whole pattern, once that was read; refers says that it is needed.
	known         *translator
	refers        bool
	lengths       map[int]int // of groups that back references in lookbehinds refer to
	bodies        map[int]body
	calling       []int // the groups that are being called
	sharesNumbers bool  // several groups may have one number
	asksCalls     bool  // there are conditions that are true in calls only
	// expectsAssertion is 2 after the beginning of a condition that is an assertion, and 1 after a
	// callout there.
	expectsAssertion int
	quoting          bool // the text in a class stands between \Q and \E
	lookarounds      int  // that are open
	bsrAnyCRLF       bool // what \R matches
	// positionsMatter says that only the backtracking engine finds the right positions; resets,
	// that \K moves a match's beginning.
	positionsMatter, resets bool
	// loops says that something is repeated.
	loops bool

	deferred [phases]error // what is found after the whole pattern was read
	missing  error         // the first part of a valid pattern that no engine has

	// What the branch matches: without its last atom, with it, and the last atom alone.
	before, branch, atom extent
	whole                extent // of the branches of the whole pattern before this one
	wholeBranches        int
	atomIsAssertion      bool

	// The last atom, for quantifiers: where it starts in both outputs.
	atomLinear, atomBacktracking int
	hasAtom                      bool
	// What the pattern takes compiled by PCRE2, as far as it was read, and where the last atom
	// begins in that.
	size, atomSize int
	atomIsGroup    bool

	literal             []byte
	isLiteral, anchored bool
}

// translate reads a pattern. One that refers to its groups is read twice: at first they are not
// known.
func translate(pattern string, fl flags) (*translator, error) {
	t, err := read(pattern, fl, nil)
	if err == nil && t.refers {
		t, err = read(pattern, fl, t)
	}
	if err != nil {
		return nil, err
	}
	t.whole = t.whole.or(t.branch, t.wholeBranches)
	return t, t.judge()
}

func read(pattern string, fl flags, known *translator) (*translator, error) {
	t := &translator{src: pattern, fl: fl, linearOK: true, isLiteral: true, known: known}
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
		t.fail(phaseCompile, "regular expression is too large")
	}
	return t, nil
}

// item reads one atom, anchor, quantifier or parenthesis.
func (t *translator) item() error {
	c := t.src[t.pos]
	if t.fl.extended && t.skipExtended() {
		return nil
	}
	if strings.HasPrefix(t.src[t.pos:], "(?#") {
		return t.comment()
	}
	expects := t.expectsAssertion
	if expects > 0 && !t.assertionFollows() {
		return errNoAssertion
	}
	t.expectsAssertion = 0
	switch c {
	case '\\':
		t.pos++
		return t.escape()
	case '*', '+', '?':
		t.pos++
		return t.quantifier(string(c), map[byte]repeat{'*': {0, many}, '+': {1, many}, '?': {0, 1}}[c])
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
		return t.open(expects)
	case ')':
		return t.close()
	case '|':
		t.alternative()
	case '.':
		t.dot()
	case '^':
		t.caret()
	case '$':
		t.dollar()
	}
	return nil
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
	t.pos += end + 1
	return t.quantifier(text, counts)
}

func (t *translator) quantifier(q string, counts repeat) error {
	if !t.hasAtom {
		return errUnrepeatable
	}
	t.repeat(counts)
	t.repeatExtent(q[0] == '{', counts)
	t.loops = t.loops || counts.high > 1 || counts.high == many
	t.isLiteral = false
	t.skipNothing()
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
	t.hasAtom = false
	return nil
}
