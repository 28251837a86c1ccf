package pcre

import (
	"fmt"
	"math"
	"slices"
)

// extent is the number of characters that a part of a pattern matches. It is at least min. It is
// exactly fixed, unless fixed is varies.
type extent struct{ min, fixed int }

const (
	varies = -1
	// maxLookbehind is the largest number of characters that a lookbehind may match.
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

// or returns the extent of a group after one more branch. branches is how many branches e already
// includes.
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

// endLookbehind checks the length of a branch. The engine would match a lookbehind from right to
// left, where captures and references work differently. So a branch that contains groups is matched
// forward from its beginning. opened is how many groups were opened so far.
func (o *emitter) endLookbehind(g *group, opened int, found *findings) {
	length := o.branch.fixed
	switch {
	case length == varies:
		found.fail(phaseLookbehind, "lookbehind assertion is not fixed length")
		return
	case length > maxLookbehind:
		found.fail(phaseLookbehind, "lookbehind assertion is too long")
		return
	case opened > g.branchGroup:
		o.backtracking.wrap(g.branchStart, "(?=", fmt.Sprintf(`)[\s\S]{%d}`, length))
	}
}

// referenceLength returns the length of the group that a back reference in a lookaround refers to.
func (t *translator) referenceLength(numbers []int) int {
	known := t.dir.known
	switch {
	case known == nil:
		return 0
	case known.sharesNumbers || len(numbers) > 1 || isOpen(t.groups, numbers[0]):
		return varies
	}
	called, ok := known.bodies[numbers[0]]
	if !ok || slices.Contains(t.dir.calling, numbers[0]) {
		return varies
	}
	if length, ok := known.lengths[numbers[0]]; ok {
		return length
	}
	scratch := newTranslator(t.in.src, known)
	scratch.groups, scratch.lookarounds = slices.Clone(t.groups), 1
	scratch.dir.calling = slices.Clone(t.dir.calling)
	scratch.write(numbers[0], called)
	if known.lengths == nil {
		known.lengths = map[int]int{}
	}
	known.lengths[numbers[0]] = scratch.out.atom.fixed
	return scratch.out.atom.fixed
}

// isOpen reports whether the group with number n is open.
func isOpen(groups []group, n int) bool {
	return slices.ContainsFunc(groups, func(g group) bool { return g.number == n })
}
