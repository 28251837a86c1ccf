package pcre

import "fmt"

// directory lists the groups of a pattern. A pattern that refers to its groups is read twice,
// because in the first pass the groups after a reference are unknown.
type directory struct {
	opened   int // number of groups and references so far
	captures int // number of capturing groups so far
	names    names
	bodies   map[int]body
	// known has the groups of the whole pattern, in the second pass. refers means that a second
	// pass is needed.
	known         *directory
	refers        bool
	lengths       map[int]int // of groups that back references in lookbehinds refer to
	calling       []int       // the groups that are being called
	sharesNumbers bool        // several groups may have the same number
	asksCalls     bool        // some conditions are true only in calls
	found         *findings
}

// conditionOnCall records a condition that is true only in a call.
func (d *directory) conditionOnCall() {
	d.asksCalls = true
	if len(d.calling) > 0 {
		d.found.lacks("a condition on recursion")
	}
}

// checkCondition records an error if the pattern does not have the group of a condition.
func (d *directory) checkCondition(n int) {
	if !d.has(n) {
		d.found.deferError(phaseCompile, errNoGroup)
	}
}

// groupIsSet returns the condition that one of the groups took part in the match.
func (d *directory) groupIsSet(numbers []int) string {
	d.refers, d.opened = true, d.opened+1
	for _, n := range numbers {
		d.checkCondition(n)
	}
	if len(d.calling) > 0 {
		d.found.lacks("a call of a group with references")
	}
	if len(numbers) == 1 {
		return fmt.Sprintf("(%d)", numbers[0])
	}
	return "(?=" + anyOf(numbers, "") + ")"
}

// body is the text that a call of a group runs.
type body struct {
	start, end, captures int
	fl                   flags
}

// names are the groups by name.
type names []namedGroup

type namedGroup struct {
	name   string
	number int
}

// define names a group. Groups with different numbers may share a name only if duplicates are
// allowed.
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

// has reports whether the pattern has a group, as far as the groups are known.
func (d *directory) has(n int) bool {
	d.refers = true
	return d.known == nil || n <= d.known.captures
}

// isNamed reports whether the pattern has a group with a name.
func (d *directory) isNamed(name string) bool {
	d.refers = true
	return d.known != nil && len(d.known.names.numbers(name)) > 0
}

// groupsNamed returns the groups of a name.
func (d *directory) groupsNamed(name string) []int {
	if d.isNamed(name) {
		return d.known.names.numbers(name)
	}
	if d.known != nil {
		d.found.deferError(phaseCompile, errNoGroup)
	}
	return []int{1}
}

// checkGroup records an error if the pattern does not have a group.
func (t *translator) checkGroup(n int) {
	switch {
	case t.dir.has(n):
	case t.measures():
		t.found.deferError(phaseLookbehind, errNoGroup)
	default:
		t.found.deferError(phaseCompile, errNoGroup)
	}
}

// measures reports whether PCRE2 checks the length of a lookbehind at this place. It stops checking
// at the first length that varies.
func (t *translator) measures() bool {
	branch := t.out.branch
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

// addBody records the body for calls of a group that ends at end. For a number with several groups,
// the first one counts.
func (d *directory) addBody(g *group, end int) {
	if d.bodies == nil {
		d.bodies = map[int]body{}
	}
	if _, seen := d.bodies[g.number]; !seen {
		d.bodies[g.number] = body{start: g.start, end: end, captures: g.number, fl: g.saved}
	}
}
