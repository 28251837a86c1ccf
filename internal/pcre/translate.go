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

// skipExtended skips white space and comments of the extended syntax. A quantifier still belongs to
// what stands before.
func (t *translator) skipExtended() bool {
	n := extendedSpace(t.src[t.pos:])
	t.pos += n
	return n > 0
}

// extendedSpace returns how many bytes at the start of a pattern stand for nothing in the extended
// syntax: white space, or a comment.
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

func isRepeat(s string) bool {
	low, high, _ := strings.Cut(s, ",")
	return low != "" && strings.Trim(low, "0123456789") == "" && strings.Trim(high, "0123456789") == ""
}

// skipNothing skips what may stand between a quantifier and the character that changes it.
func (t *translator) skipNothing() {
	for n := -1; n != 0; t.pos += n {
		n = Nothing(t.src[t.pos:], t.fl.extended)
	}
}

// Nothing returns how many bytes at the start of a pattern stand for nothing: a comment, the marks
// of an empty quotation, or white space of the extended syntax. A quantifier behind them belongs to
// what stands before.
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
