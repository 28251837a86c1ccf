package pcre

import (
	"fmt"
	"strings"
)

// group is a group that is open.
type group struct {
	kind                 groupKind
	number               int // of a group that captures, 0 otherwise
	saved                flags
	linear, backtracking int
	size                 int
	start                int // of what is in it, in the pattern

	before, all extent // before the group, and of its branches before this one
	branches    int
	branchStart int // in the backtracking output
	branchGroup int // how many groups were opened before this branch

	firstCapture, lastCapture int  // of a branch reset group: before it, and in its longest branch
	isCondition, negative     bool // of an assertion
}

type groupKind int

const (
	plainGroup groupKind = iota
	resetsNumbers
	lookahead
	lookbehind
	conditional
	definition
)

// maxGroups bounds the nesting of groups, as PCRE2 does; maxCaptures, the numbers of groups.
const (
	maxGroups   = 250
	maxCaptures = 65535
)

// open reads what follows an opening parenthesis. expects is not 0 where an assertion must follow.
func (t *translator) open(expects int) error {
	if len(t.groups) >= maxGroups && len(t.calling) == 0 {
		return invalid("parentheses are too deeply nested")
	}
	rest := t.src[t.pos:]
	switch {
	case strings.HasPrefix(rest, "*"):
		return t.verb(expects > 0)
	case !strings.HasPrefix(rest, "?"):
		if t.fl.noCapture {
			t.push(plainGroup, "(?:", "(?:")
		} else {
			t.capture()
		}
		return nil
	}
	t.pos++
	rest = rest[1:]
	for _, symbol := range []string{"=", "!", "<=", "<!", ">", "*", "<*"} {
		if strings.HasPrefix(rest, symbol) {
			t.pos += len(symbol)
			t.openSymbol(symbol, expects > 0)
			return nil
		}
	}
	return t.openSpecial(rest, expects)
}

// openSymbol opens a group that only the backtracking engine has.
func (t *translator) openSymbol(symbol string, isCondition bool) {
	kind := plainGroup
	switch symbol[0] {
	case '=', '!', '*':
		kind = lookahead
	case '<':
		kind = lookbehind
	}
	if strings.HasSuffix(symbol, "*") {
		t.lacks("a non-atomic assertion")
		symbol = strings.Replace(symbol, "*", "=", 1)
	}
	t.linearOK = false
	t.push(kind, "", "(?"+symbol)
	g := &t.groups[len(t.groups)-1]
	g.isCondition, g.negative = isCondition, strings.HasSuffix(symbol, "!")
	if kind != plainGroup {
		t.lookarounds++
	}
}

func (t *translator) openSpecial(rest string, expects int) error {
	if rest == "" {
		return errUnclosed
	}
	switch c := rest[0]; {
	case c == '<' || c == '\'':
		return t.openNamed(rest[:1])
	case c == 'P':
		return t.openPython(rest)
	case c == '(':
		return t.openConditional()
	case c == 'C':
		return t.callout(expects)
	case c == 'R':
		if !strings.HasPrefix(rest, "R)") {
			return invalid("(?R (recursive pattern call) must be followed by a closing parenthesis")
		}
		t.pos += len("R)")
		t.call(0)
		return nil
	case c == '&':
		return t.callByName()
	case c == '+' && digits(rest[1:], 10, 1) == 0:
		return invalid("digit expected after (?+ or (?-")
	case c == '+', digits(rest, 10, 1) > 0, c == '-' && digits(rest[1:], 10, 1) > 0:
		return t.callByNumber()
	case c == '|':
		t.pos++
		t.linearOK, t.sharesNumbers = false, true
		t.push(resetsNumbers, "", "(?:")
		return nil
	}
	return t.openFlags(rest)
}

func (t *translator) openNamed(delimiter string) error {
	t.pos += len(delimiter)
	name, err := t.name(strings.Replace(delimiter, "<", ">", 1)[0])
	if err != nil {
		return err
	}
	return t.namedCapture(name)
}

func (t *translator) openPython(rest string) error {
	switch {
	case rest == "P":
		return errUnclosed
	case rest[1] == '<':
		t.pos++
		return t.openNamed("<")
	case rest[1] == '>':
		t.pos++
		return t.callByName()
	case rest[1] != '=':
		return invalid("unrecognized character after (?P")
	}
	t.pos += len("P=")
	name, err := t.name(')')
	if err == nil {
		t.namedReference(name)
	}
	return err
}

// comment skips (?#…).
func (t *translator) comment() error {
	t.isLiteral = false
	end := strings.IndexByte(t.src[t.pos:], ')')
	if end < 0 {
		return invalid("missing ) after (?# comment")
	}
	t.pos += end + 1
	return nil
}

// openFlags reads (?flags) and (?flags:…).
func (t *translator) openFlags(rest string) error {
	fl, i, mayUnset := t.fl, 0, true
	if rest[0] == '^' {
		fl = flags{ungreedy: fl.ungreedy, duplicateNames: fl.duplicateNames}
		i, mayUnset = 1, false
	}
	var set, unset flags
	to := &set
	for ; i < len(rest) && rest[i] != ')' && rest[i] != ':'; i++ {
		switch {
		case rest[i] != '-':
			if !to.setInline(rest[i]) {
				return invalid("unrecognized character after (? or (?-")
			}
			to.extendedMore = to.extendedMore || strings.HasSuffix(rest[:i+1], "xx")
		case !mayUnset:
			return invalid("invalid hyphen in option setting")
		default:
			to, mayUnset = &unset, false
		}
	}
	if i == len(rest) {
		return errUnclosed
	}
	fl = fl.changed(set, unset)
	t.pos += i + 1
	if rest[i] == ')' {
		t.setFlags(fl)
		return nil
	}
	prefix := "(?" + caseFlag(fl) + ":"
	t.push(plainGroup, prefix, prefix)
	t.fl = fl
	return nil
}

// setInline turns on the option of a letter within a pattern.
func (fl *flags) setInline(letter byte) bool {
	switch letter {
	case 'i', 'm', 's', 'x':
		return fl.set(rune(letter))
	case 'U':
		fl.ungreedy = true
	case 'n':
		fl.noCapture = true
	case 'J':
		fl.duplicateNames = true
	default:
		return false
	}
	return true
}

// changed returns fl with some options set and then some unset.
func (fl flags) changed(set, unset flags) flags {
	return flags{
		ignoreCase:     (fl.ignoreCase || set.ignoreCase) && !unset.ignoreCase,
		multiline:      (fl.multiline || set.multiline) && !unset.multiline,
		dotAll:         (fl.dotAll || set.dotAll) && !unset.dotAll,
		extended:       (fl.extended || set.extended) && !unset.extended,
		extendedMore:   (fl.extendedMore && !set.extended || set.extendedMore) && !unset.extended,
		ungreedy:       (fl.ungreedy || set.ungreedy) && !unset.ungreedy,
		noCapture:      (fl.noCapture || set.noCapture) && !unset.noCapture,
		duplicateNames: (fl.duplicateNames || set.duplicateNames) && !unset.duplicateNames,
	}
}

func caseFlag(fl flags) string {
	if fl.ignoreCase {
		return "i"
	}
	return "-i"
}

// setFlags changes the flags for the rest of the group; the engines are told of the case only.
func (t *translator) setFlags(fl flags) {
	if fl.ignoreCase != t.fl.ignoreCase {
		text := "(?" + caseFlag(fl) + ")"
		t.linear.WriteString(text)
		t.backtracking.WriteString(text)
	}
	t.fl, t.hasAtom = fl, false
}

// capture opens a capturing group. Its number is explicit for regexp2, which counts named groups
// last. Within a call it captures nothing: what a call captures is forgotten behind it.
func (t *translator) capture() {
	t.captures++
	defer func() {
		t.size += sizeCapture
		t.groups[len(t.groups)-1].number = t.captures
	}()
	if len(t.calling) > 0 {
		t.push(plainGroup, "(?:", "(?:")
		return
	}
	t.push(plainGroup, "(", fmt.Sprintf("(?<%d>", t.captures))
}

func (t *translator) namedCapture(name string) error {
	if t.captures == maxCaptures {
		return invalid("too many capturing groups (maximum 65535)")
	}
	t.capture()
	if len(t.calling) > 0 {
		return nil
	}
	return t.names.define(name, t.captures, t.fl.duplicateNames)
}

func (t *translator) push(kind groupKind, linear, backtracking string) {
	t.opened++
	g := group{
		kind: kind, saved: t.fl, linear: t.linear.Len(), backtracking: t.backtracking.Len(), size: t.size,
		start: t.pos, before: t.branch, firstCapture: t.captures, lastCapture: t.captures, branchGroup: t.opened,
	}
	t.size += sizeBranch
	t.linear.WriteString(linear)
	t.backtracking.WriteString(backtracking)
	if kind == lookbehind {
		t.size += sizeReverse
	}
	g.branchStart = t.backtracking.Len()
	t.groups = append(t.groups, g)
	t.hasAtom, t.branch = false, extent{}
}

// alternative reads a vertical bar.
func (t *translator) alternative() {
	if len(t.groups) > 0 {
		t.endBranch(&t.groups[len(t.groups)-1])
	} else {
		t.whole = t.whole.or(t.branch, t.wholeBranches)
		t.wholeBranches++
	}
	t.branch = extent{}
	t.hasAtom = false
	t.size += sizeBranch
	t.linear.WriteString("|")
	if len(t.groups) == 0 {
		t.backtracking.WriteString("|")
		return
	}
	g := &t.groups[len(t.groups)-1]
	switch g.kind {
	case conditional, definition:
		t.backtracking.WriteString(")|(?:(?" + caseFlag(t.fl) + ")")
	case lookbehind:
		t.size += sizeReverse
		t.backtracking.WriteString("|(?" + caseFlag(t.fl) + ")")
	default:
		t.backtracking.WriteString("|")
	}
	if g.kind == resetsNumbers {
		t.captures = g.firstCapture
	}
	g.branchStart, g.branchGroup = t.backtracking.Len(), t.opened
}

// endBranch adds the branch that ends to its group.
func (t *translator) endBranch(g *group) {
	if g.kind == lookbehind {
		t.endLookbehind(g)
	}
	g.all = g.all.or(t.branch, g.branches)
	g.branches++
	g.lastCapture = max(g.lastCapture, t.captures)
}

// close reads a closing parenthesis; the group becomes the atom that a quantifier repeats.
func (t *translator) close() error {
	if len(t.groups) == 0 {
		return invalid("unmatched closing parenthesis")
	}
	g := &t.groups[len(t.groups)-1]
	t.endBranch(g)
	matches := g.all
	switch g.kind {
	case lookahead, lookbehind:
		t.lookarounds--
		matches = extent{}
		if g.isCondition && g.negative && t.captures > g.firstCapture {
			t.lacks("a condition that captures where it is false") // the engine forgets what it captured
		}
	case conditional, definition:
		matches = t.closeConditional(g)
	default:
	}
	t.captures = g.lastCapture
	if g.number > 0 && len(t.calling) == 0 {
		t.addBody(g)
	}
	t.groups = t.groups[:len(t.groups)-1]
	t.linear.WriteString(")")
	t.backtracking.WriteString(")")
	if g.isCondition {
		t.backtracking.WriteString("(?:")
	}
	t.fl = g.saved
	t.branch = g.before
	t.addAtom(matches)
	t.atomIsAssertion = g.kind == lookahead
	t.size += sizeBranch
	t.atomSize, t.atomIsGroup = g.size, true
	t.atomLinear, t.atomBacktracking, t.hasAtom = g.linear, g.backtracking, !g.isCondition
	return nil
}
