package pcre

import "fmt"

// directory knows the groups of a pattern. A pattern that refers to its groups is read twice: at
// first the groups behind a reference are not known.
type directory struct {
	opened   int // groups and references so far
	captures int // groups that capture, so far
	names    names
	bodies   map[int]body
	// known has the groups of the whole pattern, once that was read; refers says that it is needed.
	known         *directory
	refers        bool
	lengths       map[int]int // of groups that back references in lookbehinds refer to
	calling       []int       // the groups that are being called
	sharesNumbers bool        // several groups may have one number
	asksCalls     bool        // there are conditions that are true in calls only
	found         *findings
}

// conditionOnCall notes a condition that is true in a call only.
func (d *directory) conditionOnCall() {
	d.asksCalls = true
	if len(d.calling) > 0 {
		d.found.lacks("a condition on recursion")
	}
}

// checkCondition notes an error where the pattern does not have the group that a condition asks
// for.
func (d *directory) checkCondition(n int) {
	if !d.has(n) {
		d.found.deferError(phaseCompile, errNoGroup)
	}
}

// groupIsSet returns the condition that one of the groups took part.
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

// has reports whether the pattern has a group, as far as that is known.
func (d *directory) has(n int) bool {
	d.refers = true
	return d.known == nil || n <= d.known.captures
}

// isNamed reports whether the pattern has a group of a name.
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

// checkGroup notes an error where the pattern does not have a group.
func (t *translator) checkGroup(n int) {
	switch {
	case t.dir.has(n):
	case t.measures():
		t.found.deferError(phaseLookbehind, errNoGroup)
	default:
		t.found.deferError(phaseCompile, errNoGroup)
	}
}

// measures reports whether PCRE2 looks at this place for the length of a lookbehind: it goes on
// until a length varies.
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

// addBody notes what a call of a group that ends there would run: the first group of a number.
func (d *directory) addBody(g *group, end int) {
	if d.bodies == nil {
		d.bodies = map[int]body{}
	}
	if _, seen := d.bodies[g.number]; !seen {
		d.bodies[g.number] = body{start: g.start, end: end, captures: g.number, fl: g.saved}
	}
}
