package pcre

import (
	"fmt"
)

// conditionOnCall notes a condition that is true in a call only.
func (t *translator) conditionOnCall() {
	t.asksCalls = true
	if len(t.calling) > 0 {
		t.lacks("a condition on recursion")
	}
}

// checkCondition notes an error where the pattern does not have the group that a condition asks
// for.
func (t *translator) checkCondition(n int) {
	t.refers = true
	if t.known != nil && n > t.known.captures {
		t.deferError(phaseCompile, errNoGroup)
	}
}

// groupIsSet returns the condition that one of the groups took part.
func (t *translator) groupIsSet(numbers []int) string {
	t.refers, t.opened = true, t.opened+1
	for _, n := range numbers {
		t.checkCondition(n)
	}
	if len(t.calling) > 0 {
		t.lacks("a call of a group with references")
	}
	if len(numbers) == 1 {
		return fmt.Sprintf("(%d)", numbers[0])
	}
	return "(?=" + anyOf(numbers, "") + ")"
}

// body is what a call of a group runs.
type body struct {
	start, end, captures int
	fl                   flags
}

// names are the groups of each name.
type names []namedGroup

type namedGroup struct {
	name   string
	number int
}

// define names a group. Groups of different numbers share a name only where duplicates are allowed.
func (all *names) define(name string, number int, duplicates bool) error {
	for _, other := range *all {
		switch {
		case other.name == name && other.number == number:
			return nil
		case other.name == name && !duplicates:
			return invalid("two named subpatterns have the same name (PCRE2_DUPNAMES not set)")
		case other.name != name && other.number == number:
			return invalid("different names for subpatterns of the same number are not allowed")
		}
	}
	*all = append(*all, namedGroup{name, number})
	return nil
}

func (all names) numbers(name string) (numbers []int) {
	for _, group := range all {
		if group.name == name {
			numbers = append(numbers, group.number)
		}
	}
	return numbers
}

// isNamed reports whether the pattern has a group of a name.
func (t *translator) isNamed(name string) bool {
	t.refers = true
	return t.known != nil && len(t.known.names.numbers(name)) > 0
}

// groupsNamed returns the groups of a name.
func (t *translator) groupsNamed(name string) []int {
	if t.isNamed(name) {
		return t.known.names.numbers(name)
	}
	if t.known != nil {
		t.deferError(phaseCompile, errNoGroup)
	}
	return []int{1}
}

// checkGroup notes an error where the pattern does not have a group.
func (t *translator) checkGroup(n int) {
	t.refers = true
	switch {
	case t.known == nil || n <= t.known.captures:
	case t.measures():
		t.deferError(phaseLookbehind, errNoGroup)
	default:
		t.deferError(phaseCompile, errNoGroup)
	}
}

// measures reports whether PCRE2 looks at this place for the length of a lookbehind: it goes on
// until a length varies.
func (t *translator) measures() bool {
	branch := t.branch
	for i := len(t.groups) - 1; i >= 0 && branch.fixed != varies; i-- {
		switch t.groups[i].kind {
		case lookahead:
			return false
		case lookbehind:
			return true
		default:
		}
		branch = t.groups[i].before
	}
	return false
}

// addBody notes what a call of a group that ends would run: the first group of a number.
func (t *translator) addBody(g *group) {
	if t.bodies == nil {
		t.bodies = map[int]body{}
	}
	if _, seen := t.bodies[g.number]; !seen {
		t.bodies[g.number] = body{start: g.start, end: t.pos - 1, captures: g.number, fl: g.saved}
	}
}
