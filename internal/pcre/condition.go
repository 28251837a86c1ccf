package pcre

import (
	"fmt"
	"regexp"
	"strings"
)

// versionCondition is a condition on PCRE2's own version.
var versionCondition = regexp.MustCompile(`^VERSION>?=\d{1,3}(?:\.\d{1,2})?\)`)

// assertionFollows reports whether a condition's assertion, or a callout before it, comes next.
func (t *translator) assertionFollows() bool {
	rest, isGroup := strings.CutPrefix(t.src[t.pos:], "(")
	if !isGroup || len(rest) < 3 {
		return false
	}
	switch {
	case rest[0] == '*':
		return rest[1] >= 'a' && rest[1] <= 'z'
	case rest[0] != '?':
		return false
	case rest[1] == 'C':
		return t.expectsAssertion == 2
	case rest[1] == '<':
		return rest[2] == '=' || rest[2] == '!'
	}
	return rest[1] == '=' || rest[1] == '!'
}

// openConditional reads the condition of (?(condition)yes|no).
func (t *translator) openConditional() error {
	t.pos++
	rest := t.src[t.pos:]
	if rest == "" {
		return errUnclosed
	}
	t.linearOK = false
	if rest[0] == '?' || rest[0] == '*' {
		t.pos--
		t.expectsAssertion = 2
		t.push(conditional, "", "(?")
		return nil
	}
	kind, condition, err := t.condition(rest)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(t.src[t.pos:], ")") {
		return invalid("missing closing parenthesis for condition")
	}
	t.pos++
	// The engine allows no options in a conditional group. So each branch is a group of its own.
	t.push(kind, "", "(?"+condition+"(?:")
	t.size += sizeCondition
	if kind == definition {
		t.size += sizeOp - sizeCondition
	}
	return nil
}

// condition reads a condition that is no assertion, and returns it for the backtracking engine.
func (t *translator) condition(rest string) (groupKind, string, error) {
	n, ok, err := t.number(true)
	switch {
	case err != nil:
		return 0, "", err
	case ok && n <= 0:
		return 0, "", errNoGroup
	case ok:
		return conditional, t.groupIsSet([]int{n}), nil
	case len(rest) >= 10 && strings.HasPrefix(rest, "VERSION") && rest[7] != ')':
		read := versionCondition.FindString(rest)
		if read == "" {
			return 0, "", invalid("syntax error or number too big in (?(VERSION condition")
		}
		t.pos += len(read) - 1
		t.lacks("a condition on the version")
		return conditional, never, nil
	case strings.HasPrefix(rest, "R&"):
		t.pos += len("R&")
		return t.recursionCondition()
	}
	return t.nameCondition(rest[0])
}

// recursionCondition reads the name of (?(R&name): whether the group is being called.
func (t *translator) recursionCondition() (groupKind, string, error) {
	name, err := t.name(')')
	if err != nil {
		return 0, "", err
	}
	t.pos--
	t.groupsNamed(name)
	t.conditionOnCall()
	return conditional, never, nil
}

func (t *translator) nameCondition(c byte) (groupKind, string, error) {
	terminator := byte(')')
	switch c {
	case '<':
		terminator = '>'
		t.pos++
	case '\'':
		terminator = '\''
		t.pos++
	}
	name, err := t.name(terminator)
	if err != nil {
		return 0, "", err
	}
	if terminator == ')' {
		t.pos--
	}
	if terminator == ')' && name == "DEFINE" {
		return definition, never, nil
	}
	number := strings.TrimPrefix(name, "R")
	if terminator != ')' || number == name || digits(number, 10, len(number)) < len(number) || t.isNamed(name) {
		return conditional, t.groupIsSet(t.groupsNamed(name)), nil
	}
	if number != "" {
		t.checkCondition(atoi(number))
	}
	t.conditionOnCall()
	return conditional, never, nil
}

// never is a condition that is false.
const never = "(?!)"

// anyOf matches the format of the first group that took part, and fails if none did.
func anyOf(numbers []int, format string) string {
	text := never
	for i := len(numbers) - 1; i >= 0; i-- {
		then := format
		if then != "" {
			then = fmt.Sprintf(format, numbers[i])
		}
		text = fmt.Sprintf("(?(%d)%s|%s)", numbers[i], then, text)
	}
	return text
}

// closeConditional returns what a conditional group matches.
func (t *translator) closeConditional(g *group) extent {
	matches := g.all
	if g.kind == definition {
		matches = extent{}
	}
	switch {
	case g.kind == definition && g.branches > 1:
		t.fail(phaseCompile, "DEFINE subpattern contains more than one branch")
	case g.branches > 2:
		t.fail(phaseCompile, "conditional subpattern contains more than two branches")
	case g.branches == 1:
		// Without this branch, the engine would fail where the condition is false.
		t.backtracking.WriteString(")|")
		matches.min = 0
		return matches
	}
	t.backtracking.WriteString(")")
	return matches
}
