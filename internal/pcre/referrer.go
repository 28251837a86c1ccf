package pcre

import "strings"

// referrer parses references to groups: back references, calls and conditions.
type referrer struct {
	in    *scanner
	dir   *directory
	found *findings
}

func (t *translator) refs() referrer { return referrer{in: &t.in, dir: &t.dir, found: &t.found} }

// number parses the number of a group.
func (r referrer) number(signed bool) (n int, ok bool, err error) {
	return r.in.number(signed, r.dir.captures)
}

// target describes the groups that an escape refers to. It is the group with a number, or all
// groups with a name.
type target struct {
	number int
	named  []int // nil if the escape contains a number
	isCall bool
}

// escaped parses the references \1, \g{1}, \g{-1} and \g{name}. It also parses \k<name>, \k'name'
// and \k{name}, and the calls \g<1> and \g'name'.
func (r referrer) escaped(c byte) (to target, err error) {
	switch {
	case c >= '1' && c <= '9':
		to.number, _, err = r.number(false)
		return to, err
	case c != 'g' && c != 'k':
		return to, errUnknownEscape
	}
	r.in.pos++
	opening := byte(0)
	if r.in.pos < len(r.in.src) {
		opening = r.in.src[r.in.pos]
	}
	at := strings.IndexByte("{<'", opening)
	switch {
	case c == 'k' && at < 0:
		err = invalid("\\k is not followed by a braced, angle-bracketed, or quoted name")
	case c == 'k':
		to.named, err = r.delimited("}>'"[at])
	case at < 0:
		to.number, err = r.plain()
	case opening == '{':
		to, err = r.braced()
	default:
		to.isCall = true
		to.number, err = r.delimitedCall("}>'"[at])
	}
	return to, err
}

// delimited parses a name after skipping its opening delimiter.
func (r referrer) delimited(terminator byte) ([]int, error) {
	r.in.pos++
	return r.named(terminator)
}

// named parses a name, and returns the groups with that name.
func (r referrer) named(terminator byte) ([]int, error) {
	name, err := r.in.name(terminator)
	if err != nil {
		return nil, err
	}
	return r.dir.groupsNamed(name), nil
}

// plain parses the number after \g.
func (r referrer) plain() (int, error) {
	n, ok, err := r.number(true)
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return 0, errAfterG
	case n <= 0:
		return 0, errNoGroup
	}
	return n, nil
}

// braced parses the number or name in braces after \g.
func (r referrer) braced() (to target, err error) {
	start := r.in.pos
	r.in.pos++
	n, ok, err := r.number(true)
	switch {
	case err != nil:
		return to, err
	case !ok:
		r.in.pos = start
		to.named, err = r.delimited('}')
		return to, err
	case !r.in.follows("}"):
		return to, errAfterG
	case n <= 0:
		return to, errNoGroup
	}
	r.in.pos++
	return target{number: n}, nil
}

// call parses the number in (?1), (?-1) or (?+1).
func (r referrer) call() (int, error) {
	n, _, err := r.number(true)
	switch {
	case err != nil:
		return 0, err
	case !r.in.follows(")"):
		return 0, errUnclosed
	}
	r.in.pos++
	return n, nil
}

// callByName parses the name in (?&name) or (?P>name).
func (r referrer) callByName() (int, error) {
	numbers, err := r.delimited(')')
	if err != nil {
		return 0, err
	}
	return numbers[0], nil
}

func (r referrer) delimitedCall(terminator byte) (int, error) {
	r.in.pos++
	n, ok, err := r.number(true)
	switch {
	case err != nil:
		return 0, err
	case ok && !r.in.follows(string(terminator)):
		return 0, errAfterG
	case ok:
		r.in.pos++
		return n, nil
	}
	numbers, err := r.named(terminator)
	if err != nil {
		return 0, err
	}
	return numbers[0], nil
}

// condition parses a condition that is not an assertion, and returns it for the backtracking
// engine.
func (r referrer) condition(rest string) (groupKind, string, error) {
	n, ok, err := r.number(true)
	switch {
	case err != nil:
		return 0, "", err
	case ok && n <= 0:
		return 0, "", errNoGroup
	case ok:
		return conditional, r.dir.groupIsSet([]int{n}), nil
	case len(rest) >= 10 && strings.HasPrefix(rest, "VERSION") && rest[7] != ')':
		read := versionCondition.FindString(rest)
		if read == "" {
			return 0, "", invalid("syntax error or number too big in (?(VERSION condition")
		}
		r.in.pos += len(read) - 1
		r.found.lacks("a condition on the version")
		return conditional, never, nil
	case strings.HasPrefix(rest, "R&"):
		r.in.pos += len("R&")
		return r.recursionCondition()
	}
	return r.nameCondition(rest[0])
}

// recursionCondition parses the name in (?(R&name), which asks whether the group is being called.
func (r referrer) recursionCondition() (groupKind, string, error) {
	name, err := r.in.name(')')
	if err != nil {
		return 0, "", err
	}
	r.in.pos--
	r.dir.groupsNamed(name)
	r.dir.conditionOnCall()
	return conditional, never, nil
}

func (r referrer) nameCondition(c byte) (groupKind, string, error) {
	terminator := byte(')')
	switch c {
	case '<':
		terminator = '>'
		r.in.pos++
	case '\'':
		terminator = '\''
		r.in.pos++
	}
	name, err := r.in.name(terminator)
	if err != nil {
		return 0, "", err
	}
	if terminator == ')' {
		r.in.pos--
	}
	if terminator == ')' && name == "DEFINE" {
		return definition, never, nil
	}
	number := strings.TrimPrefix(name, "R")
	if terminator != ')' || number == name || digits(number, 10, len(number)) < len(number) || r.dir.isNamed(name) {
		return conditional, r.dir.groupIsSet(r.dir.groupsNamed(name)), nil
	}
	if number != "" {
		r.dir.checkCondition(atoi(number))
	}
	r.dir.conditionOnCall()
	return conditional, never, nil
}
