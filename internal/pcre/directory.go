package pcre

import "fmt"

// directory lists the groups of a pattern. A pattern that refers to its groups is translated twice,
// because the first pass does not know the groups that come after a reference.
type directory struct {
	opened   int // how many groups and references there are so far
	captures int // how many capturing groups there are so far
	names    names
	bodies   map[int]body
	// known lists the groups of the whole pattern. It is nil in the first pass. refers is true if a
	// second pass is needed.
	known         *directory
	refers        bool
	lengths       map[int]int // lengths of the groups that lookbehinds refer to
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

// body is the part of a pattern that a call of a group runs.
type body struct {
	start, end, captures int
	fl                   flags
}

// names lists the groups that have names.
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

// has reports whether the pattern has the group with number n. It returns true while the groups are
// unknown.
func (d *directory) has(n int) bool {
	d.refers = true
	return d.known == nil || n <= d.known.captures
}

// isNamed reports whether the pattern has a group with the given name.
func (d *directory) isNamed(name string) bool {
	d.refers = true
	return d.known != nil && len(d.known.names.numbers(name)) > 0
}

// groupsNamed returns the numbers of the groups with the given name.
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

// measures reports whether PCRE2 checks the length of a lookbehind at the current position. PCRE2
// stops checking at the first part whose length varies.
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

// addBody records that the body of the group g ends at the position end. If several groups have the
// same number, calls use the first one.
func (d *directory) addBody(g *group, end int) {
	if d.bodies == nil {
		d.bodies = map[int]body{}
	}
	if _, seen := d.bodies[g.number]; !seen {
		d.bodies[g.number] = body{start: g.start, end: end, captures: g.number, fl: g.saved}
	}
}
