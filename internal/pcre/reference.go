package pcre

import (
	"fmt"
	"slices"
)

// referenceEscape translates \1, \g and \k.
func (t *translator) referenceEscape(c byte) error {
	if c == 'C' {
		t.anyByte()
		return nil
	}
	to, err := t.refs().escaped(c)
	switch {
	case err != nil:
	case to.isCall:
		t.call(to.number)
	case to.named != nil:
		t.reference(to.named)
	default:
		t.reference([]int{to.number})
	}
	return err
}

// anyByte records an error for \C, which may end in the middle of a character.
func (t *translator) anyByte() {
	t.in.pos++
	if slices.ContainsFunc(t.groups, func(g group) bool { return g.kind == lookbehind }) {
		t.found.fail(phaseLookbehind, "\\C is not allowed in a lookbehind assertion in UTF-8 mode")
	}
	t.found.lacks("\\C")
	t.out.emit("")
}

// reference writes a back reference. It refers to the first of the given groups that took part in
// the match.
func (t *translator) reference(numbers []int) {
	t.dir.refers, t.dir.opened = true, t.dir.opened+1
	if len(t.dir.calling) > 0 {
		t.found.lacks("a call of a group with references")
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
	t.out.emitBacktracking(text, matches)
	t.out.size += sizeReference - sizeOp
}

// callTo writes a call of group n, unless err is set. err is the error from parsing the number.
func (t *translator) callTo(n int, err error) error {
	if err == nil {
		t.call(n)
	}
	return err
}

// maxCalls limits the length of a pattern after its calls were replaced with the bodies of the
// groups.
const maxCalls = 1 << 16

// call replaces a call with the body of the group. If the group is still open, the call is
// recursive, and neither engine supports it.
func (t *translator) call(n int) {
	t.checkGroup(n)
	size := t.out.size
	defer func() { t.out.size, t.out.atomSize, t.out.atomIsGroup = size+sizeReference, size, true }()
	called, ok := body{}, false
	if t.dir.known != nil {
		called, ok = t.dir.known.bodies[n]
	}
	switch {
	case n == 0, slices.Contains(t.dir.calling, n), isOpen(t.groups, n):
		t.found.lacks("recursion")
		ok = false
	case t.dir.known != nil && t.dir.known.asksCalls:
		t.found.lacks("a condition on recursion")
	case t.out.backtracking.Len() > maxCalls:
		t.found.lacks("a call this large")
	}
	if !ok || t.found.missing != nil {
		t.out.emitBacktracking("", extent{0, varies})
		return
	}
	t.write(n, called)
}

// write writes the body of a called group.
func (t *translator) write(n int, called body) {
	pos, captures, fl := t.in.pos, t.dir.captures, t.fl
	prefix := "(?" + caseFlag(called.fl) + ":"
	t.push(plainGroup, prefix, prefix)
	t.in.pos, t.dir.captures, t.fl = called.start, called.captures, called.fl
	t.dir.calling = append(t.dir.calling, n)
	for t.in.pos < called.end {
		if err := t.item(); err != nil {
			t.found.deferError(phaseCompile, err)
			break
		}
	}
	if err := t.close(); err != nil {
		t.found.deferError(phaseCompile, err)
	}
	t.dir.calling = t.dir.calling[:len(t.dir.calling)-1]
	t.in.pos, t.dir.captures, t.fl = pos, captures, fl
}
