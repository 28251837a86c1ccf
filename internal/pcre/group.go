package pcre

import (
	"fmt"
	"strings"

	"github.com/sheafdb/sheaf/internal/limits"
)

// group is a group that is not closed yet.
type group struct {
	kind                 groupKind
	number               int // 0 if the group does not capture
	saved                flags
	linear, backtracking int
	size                 int
	start                int // where the content starts in the pattern

	before, all extent // extents of the pattern before the group, and of the finished branches
	branches    int
	branchStart int // position in the backtracking output
	branchGroup int // how many groups were opened before this branch

	// firstCapture is the number of capturing groups before this group. lastCapture is the number
	// after its longest branch. Only groups of the kind resetsNumbers need them.
	firstCapture, lastCapture int
	isCondition, negative     bool // set for assertions
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

// open translates the text after an opening parenthesis. If expects is not 0, an assertion must
// follow.
func (t *translator) open(expects int) error {
	if len(t.groups) >= limits.PatternGroupDepth && len(t.dir.calling) == 0 {
		return invalid("parentheses are too deeply nested")
	}
	rest := t.in.rest()
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
	t.in.pos++
	rest = rest[1:]
	for _, symbol := range []string{"=", "!", "<=", "<!", ">", "*", "<*"} {
		if strings.HasPrefix(rest, symbol) {
			t.in.pos += len(symbol)
			t.openSymbol(symbol, expects > 0)
			return nil
		}
	}
	return t.openSpecial(rest, expects)
}

// openSymbol opens a group that only the backtracking engine supports.
func (t *translator) openSymbol(symbol string, isCondition bool) {
	kind := plainGroup
	switch symbol[0] {
	case '=', '!', '*':
		kind = lookahead
	case '<':
		kind = lookbehind
	}
	if strings.HasSuffix(symbol, "*") {
		t.found.lacks("a non-atomic assertion")
		symbol = strings.Replace(symbol, "*", "=", 1)
	}
	t.out.linearOK = false
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
		t.in.pos += len("R)")
		t.call(0)
		return nil
	case c == '&':
		return t.callTo(t.refs().callByName())
	case c == '+' && digits(rest[1:], 10, 1) == 0:
		return invalid("digit expected after (?+ or (?-")
	case c == '+', digits(rest, 10, 1) > 0, c == '-' && digits(rest[1:], 10, 1) > 0:
		return t.callTo(t.refs().call())
	case c == '|':
		t.in.pos++
		t.out.linearOK, t.dir.sharesNumbers = false, true
		t.push(resetsNumbers, "", "(?:")
		return nil
	}
	return t.openFlags(rest)
}

func (t *translator) openNamed(delimiter string) error {
	t.in.pos += len(delimiter)
	name, err := t.in.name(strings.Replace(delimiter, "<", ">", 1)[0])
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
		t.in.pos++
		return t.openNamed("<")
	case rest[1] == '>':
		t.in.pos++
		return t.callTo(t.refs().callByName())
	case rest[1] != '=':
		return invalid("unrecognized character after (?P")
	}
	t.in.pos += len("P=")
	name, err := t.in.name(')')
	if err == nil {
		t.reference(t.dir.groupsNamed(name))
	}
	return err
}

// comment skips a comment, (?#…).
func (t *translator) comment() error {
	t.out.isLiteral = false
	end := strings.IndexByte(t.in.rest(), ')')
	if end < 0 {
		return invalid("missing ) after (?# comment")
	}
	t.in.pos += end + 1
	return nil
}

// openFlags parses (?flags) and (?flags:…).
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
	t.in.pos += i + 1
	if rest[i] == ')' {
		t.setFlags(fl)
		return nil
	}
	prefix := "(?" + caseFlag(fl) + ":"
	t.push(plainGroup, prefix, prefix)
	t.fl = fl
	return nil
}

// setInline turns on the flag for a letter that is used inside a pattern.
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

// changed returns a copy of fl in which the flags in set are turned on, and then the flags in unset
// are turned off.
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

// setFlags changes the flags for the rest of the group. Only the flag for ignoring case is written
// to the engines.
func (t *translator) setFlags(fl flags) {
	if fl.ignoreCase != t.fl.ignoreCase {
		text := "(?" + caseFlag(fl) + ")"
		t.out.write(text, text)
	}
	t.fl, t.out.hasAtom = fl, false
}

// capture opens a capturing group. It writes the number explicitly, because regexp2 would number
// named groups last. A group in a call captures nothing, because PCRE2 discards the captures when
// the call ends.
func (t *translator) capture() {
	t.dir.captures++
	defer func() {
		t.out.size += sizeCapture
		t.groups[len(t.groups)-1].number = t.dir.captures
	}()
	if len(t.dir.calling) > 0 {
		t.push(plainGroup, "(?:", "(?:")
		return
	}
	t.push(plainGroup, "(", fmt.Sprintf("(?<%d>", t.dir.captures))
}

func (t *translator) namedCapture(name string) error {
	if t.dir.captures == limits.PatternCaptures {
		return invalid("too many capturing groups (maximum 65535)")
	}
	t.capture()
	if len(t.dir.calling) > 0 {
		return nil
	}
	return t.dir.names.define(name, t.dir.captures, t.fl.duplicateNames)
}

func (t *translator) push(kind groupKind, linear, backtracking string) {
	t.dir.opened++
	g := group{
		kind: kind, saved: t.fl, linear: t.out.linear.Len(), backtracking: t.out.backtracking.Len(), size: t.out.size,
		start: t.in.pos, before: t.out.branch, firstCapture: t.dir.captures,
		lastCapture: t.dir.captures, branchGroup: t.dir.opened,
	}
	t.out.size += sizeBranch
	t.out.write(linear, backtracking)
	if kind == lookbehind {
		t.out.size += sizeReverse
	}
	g.branchStart = t.out.backtracking.Len()
	t.groups = append(t.groups, g)
	t.out.hasAtom, t.out.branch = false, extent{}
}

// alternative translates a vertical bar.
func (t *translator) alternative() {
	if len(t.groups) > 0 {
		t.endBranch(&t.groups[len(t.groups)-1])
	} else {
		t.whole = t.whole.or(t.out.branch, t.wholeBranches)
		t.wholeBranches++
	}
	t.out.branch = extent{}
	t.out.hasAtom = false
	t.out.size += sizeBranch
	t.out.linear.WriteString("|")
	if len(t.groups) == 0 {
		t.out.backtracking.WriteString("|")
		return
	}
	g := &t.groups[len(t.groups)-1]
	switch g.kind {
	case conditional, definition:
		t.out.backtracking.WriteString(")|(?:(?" + caseFlag(t.fl) + ")")
	case lookbehind:
		t.out.size += sizeReverse
		t.out.backtracking.WriteString("|(?" + caseFlag(t.fl) + ")")
	default:
		t.out.backtracking.WriteString("|")
	}
	if g.kind == resetsNumbers {
		t.dir.captures = g.firstCapture
	}
	g.branchStart, g.branchGroup = t.out.backtracking.Len(), t.dir.opened
}

// endBranch adds the current branch to its group.
func (t *translator) endBranch(g *group) {
	if g.kind == lookbehind {
		t.out.endLookbehind(g, t.dir.opened, &t.found)
	}
	g.all = g.all.or(t.out.branch, g.branches)
	g.branches++
	g.lastCapture = max(g.lastCapture, t.dir.captures)
}

// close translates a closing parenthesis. The group becomes the last atom, which a quantifier may
// repeat.
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
		if g.isCondition && g.negative && t.dir.captures > g.firstCapture {
			// The engine discards the captures of a negative condition.
			t.found.lacks("a condition that captures where it is false")
		}
	case conditional, definition:
		matches = t.out.closeConditional(g, &t.found)
	default:
	}
	t.dir.captures = g.lastCapture
	if g.number > 0 && len(t.dir.calling) == 0 {
		t.dir.addBody(g, t.in.pos-1)
	}
	t.groups = t.groups[:len(t.groups)-1]
	t.out.write(")", ")")
	if g.isCondition {
		t.out.backtracking.WriteString("(?:")
	}
	t.fl = g.saved
	t.out.branch = g.before
	t.out.addAtom(matches)
	t.out.atomIsAssertion = g.kind == lookahead
	t.out.size += sizeBranch
	t.out.atomSize, t.out.atomIsGroup = g.size, true
	t.out.atomLinear, t.out.atomBacktracking, t.out.hasAtom = g.linear, g.backtracking, !g.isCondition
	return nil
}
