package pcre

import (
	"fmt"
	"slices"
	"strings"
)

// referenceEscape reads \1, \g{1}, \g{-1}, \g{name}, \k<name>, \k'name', \k{name}, and the calls
// \g<1> and \g'name'.
func (t *translator) referenceEscape(c byte) error {
	switch {
	case c >= '1' && c <= '9':
		n, _, err := t.number(false)
		if err == nil {
			t.reference([]int{n})
		}
		return err
	case c == 'C':
		t.anyByte()
		return nil
	case c != 'g' && c != 'k':
		return errUnknownEscape
	}
	t.pos++
	opening := byte(0)
	if t.pos < len(t.src) {
		opening = t.src[t.pos]
	}
	at := strings.IndexByte("{<'", opening)
	switch {
	case c == 'k' && at < 0:
		return invalid("\\k is not followed by a braced, angle-bracketed, or quoted name")
	case c == 'k':
		return t.delimitedReference("}>'"[at])
	case at < 0:
		return t.plainReference()
	case opening == '{':
		return t.bracedReference()
	}
	return t.delimitedCall("}>'"[at])
}

// anyByte reads \C, which may end within a character.
func (t *translator) anyByte() {
	t.pos++
	if slices.ContainsFunc(t.groups, func(g group) bool { return g.kind == lookbehind }) {
		t.fail(phaseLookbehind, "\\C is not allowed in a lookbehind assertion in UTF-8 mode")
	}
	t.lacks("\\C")
	t.emit("")
}

func (t *translator) delimitedReference(terminator byte) error {
	t.pos++
	name, err := t.name(terminator)
	if err == nil {
		t.namedReference(name)
	}
	return err
}

// plainReference reads the number after \g.
func (t *translator) plainReference() error {
	n, ok, err := t.number(true)
	switch {
	case err != nil:
		return err
	case !ok:
		return errAfterG
	case n <= 0:
		return errNoGroup
	}
	t.reference([]int{n})
	return nil
}

// bracedReference reads the number or name after \g.
func (t *translator) bracedReference() error {
	start := t.pos
	t.pos++
	n, ok, err := t.number(true)
	switch {
	case err != nil:
		return err
	case !ok:
		t.pos = start
		return t.delimitedReference('}')
	case !strings.HasPrefix(t.src[t.pos:], "}"):
		return errAfterG
	case n <= 0:
		return errNoGroup
	}
	t.pos++
	t.reference([]int{n})
	return nil
}

// reference writes a back reference to the first of the groups that took part.
func (t *translator) reference(numbers []int) {
	t.refers, t.opened = true, t.opened+1
	if len(t.calling) > 0 {
		t.lacks("a call of a group with references")
	}
	for _, n := range numbers {
		t.checkGroup(n)
	}
	matches := extent{0, varies}
	if t.lookarounds > 0 {
		matches.fixed = t.referenceLength(numbers)
	}
	text := fmt.Sprintf(`\k<%d>`, numbers[0])
	if len(numbers) > 1 {
		text = anyOf(numbers, `\k<%d>`)
	}
	t.emitBacktracking(text, matches)
	t.size += sizeReference - sizeOp
}

func (t *translator) namedReference(name string) { t.reference(t.groupsNamed(name)) }

// callByNumber reads the number of (?1), (?-1) or (?+1).
func (t *translator) callByNumber() error {
	n, _, err := t.number(true)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(t.src[t.pos:], ")") {
		return errUnclosed
	}
	t.pos++
	t.call(n)
	return nil
}

// callByName reads the name of (?&name) or (?P>name).
func (t *translator) callByName() error {
	t.pos++
	name, err := t.name(')')
	if err == nil {
		t.call(t.groupsNamed(name)[0])
	}
	return err
}

func (t *translator) delimitedCall(terminator byte) error {
	t.pos++
	n, ok, err := t.number(true)
	switch {
	case err != nil:
		return err
	case ok && !strings.HasPrefix(t.src[t.pos:], string(terminator)):
		return errAfterG
	case ok:
		t.pos++
	default:
		name, err := t.name(terminator)
		if err != nil {
			return err
		}
		n = t.groupsNamed(name)[0]
	}
	t.call(n)
	return nil
}

// maxCalls bounds the length of a pattern whose calls are written out.
const maxCalls = 1 << 16

// call writes the body of a group in place of a call. Where the group is open, the call recurs,
// which no engine has.
func (t *translator) call(n int) {
	t.checkGroup(n)
	size := t.size
	defer func() { t.size, t.atomSize, t.atomIsGroup = size+sizeReference, size, true }()
	called, ok := body{}, false
	if t.known != nil {
		called, ok = t.known.bodies[n]
	}
	switch {
	case n == 0, slices.Contains(t.calling, n), slices.ContainsFunc(t.groups, func(g group) bool { return g.number == n }):
		t.lacks("recursion")
		ok = false
	case t.known != nil && t.known.asksCalls:
		t.lacks("a condition on recursion")
	case t.backtracking.Len() > maxCalls:
		t.lacks("a call this large")
	}
	if !ok || t.missing != nil {
		t.emitBacktracking("", extent{0, varies})
		return
	}
	t.write(n, called)
}

// write writes a body that is called as a group.
func (t *translator) write(n int, called body) {
	pos, captures, fl := t.pos, t.captures, t.fl
	prefix := "(?" + caseFlag(called.fl) + ":"
	t.push(plainGroup, prefix, prefix)
	t.pos, t.captures, t.fl = called.start, called.captures, called.fl
	t.calling = append(t.calling, n)
	for t.pos < called.end {
		if err := t.item(); err != nil {
			t.deferError(phaseCompile, err)
			break
		}
	}
	if err := t.close(); err != nil {
		t.deferError(phaseCompile, err)
	}
	t.calling = t.calling[:len(t.calling)-1]
	t.pos, t.captures, t.fl = pos, captures, fl
}
