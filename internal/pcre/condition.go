package pcre

import (
	"fmt"
	"regexp"
	"strings"
)

// versionCondition matches a condition on the version of PCRE2.
var versionCondition = regexp.MustCompile(`^VERSION>?=\d{1,3}(?:\.\d{1,2})?\)`)

// beginsAssertion reports whether a pattern begins with an assertion. If callout is true, a callout
// before the assertion is allowed.
func beginsAssertion(pattern string, callout bool) bool {
	rest, isGroup := strings.CutPrefix(pattern, "(")
	if !isGroup || len(rest) < 3 {
		return false
	}
	switch {
	case rest[0] == '*':
		return rest[1] >= 'a' && rest[1] <= 'z'
	case rest[0] != '?':
		return false
	case rest[1] == 'C':
		return callout
	case rest[1] == '<':
		return rest[2] == '=' || rest[2] == '!'
	}
	return rest[1] == '=' || rest[1] == '!'
}

// openConditional parses the condition of (?(condition)yes|no), and opens the group.
func (t *translator) openConditional() error {
	t.in.pos++
	rest := t.in.rest()
	if rest == "" {
		return errUnclosed
	}
	t.out.linearOK = false
	if rest[0] == '?' || rest[0] == '*' {
		t.in.pos--
		t.expectsAssertion = 2
		t.push(conditional, "", "(?")
		return nil
	}
	kind, condition, err := t.refs().condition(rest)
	if err != nil {
		return err
	}
	if !t.in.follows(")") {
		return invalid("missing closing parenthesis for condition")
	}
	t.in.pos++
	// The engine does not allow options in a conditional group, so each branch is a group of its
	// own.
	t.push(kind, "", "(?"+condition+"(?:")
	t.out.size += sizeCondition
	if kind == definition {
		t.out.size += sizeOp - sizeCondition
	}
	return nil
}

// never is a condition that is false.
const never = "(?!)"

// anyOf formats the number of the first group that took part in the match. The result never matches
// if no group took part.
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

// closeConditional ends a conditional group and returns its extent.
func (o *emitter) closeConditional(g *group, found *findings) extent {
	matches := g.all
	if g.kind == definition {
		matches = extent{}
	}
	switch {
	case g.kind == definition && g.branches > 1:
		found.fail(phaseCompile, "DEFINE subpattern contains more than one branch")
	case g.branches > 2:
		found.fail(phaseCompile, "conditional subpattern contains more than two branches")
	case g.branches == 1:
		// Without this branch, the engine would not match if the condition is false.
		o.backtracking.WriteString(")|")
		matches.min = 0
		return matches
	}
	o.backtracking.WriteString(")")
	return matches
}
