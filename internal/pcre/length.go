package pcre

import (
	"fmt"
	"math"
	"slices"
)

// extent is how many characters a part of a pattern matches: at least min, and always fixed unless
// that is varies.
type extent struct{ min, fixed int }

const (
	varies = -1
	// maxLookbehind is how far a lookbehind may look.
	maxLookbehind = 65535
	maxExtent     = math.MaxInt32
)

func (e extent) then(next extent) extent {
	sum := extent{min(e.min+next.min, maxExtent), varies}
	if e.fixed != varies && next.fixed != varies {
		sum.fixed = min(e.fixed+next.fixed, maxExtent)
	}
	return sum
}

// or returns the extent of a group of so many branches and one more.
func (e extent) or(other extent, branches int) extent {
	if branches == 0 {
		return other
	}
	e.min = min(e.min, other.min)
	if e.fixed != other.fixed {
		e.fixed = varies
	}
	return e
}

// endLookbehind checks the length of a branch. The engine would match it from right to left, where
// captures and references differ: a branch with groups is matched from where it begins.
func (t *translator) endLookbehind(g *group) {
	length := t.branch.fixed
	switch {
	case length == varies:
		t.fail(phaseLookbehind, "lookbehind assertion is not fixed length")
		return
	case length > maxLookbehind:
		t.fail(phaseLookbehind, "lookbehind assertion is too long")
		return
	case t.opened > g.branchGroup:
		t.backtracking.wrap(g.branchStart, "(?=", fmt.Sprintf(`)[\s\S]{%d}`, length))
	}
}

// referenceLength returns the length of the group of a back reference in a lookaround.
func (t *translator) referenceLength(numbers []int) int {
	switch {
	case t.known == nil:
		return 0
	case t.known.sharesNumbers || len(numbers) > 1 || slices.ContainsFunc(t.groups, func(g group) bool { return g.number == numbers[0] }):
		return varies
	}
	called, ok := t.known.bodies[numbers[0]]
	if !ok || slices.Contains(t.calling, numbers[0]) {
		return varies
	}
	if length, ok := t.known.lengths[numbers[0]]; ok {
		return length
	}
	scratch := &translator{src: t.src, known: t.known, groups: slices.Clone(t.groups), calling: slices.Clone(t.calling), lookarounds: 1}
	scratch.write(numbers[0], called)
	if t.known.lengths == nil {
		t.known.lengths = map[int]int{}
	}
	t.known.lengths[numbers[0]] = scratch.atom.fixed
	return scratch.atom.fixed
}
