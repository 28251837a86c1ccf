package pcre

import "strings"

// The errors that more than one place finds.
var (
	errUnclosed          = invalid("missing closing parenthesis")
	errUnclosedClass     = invalid("missing terminating ] for character class")
	errClassRange        = invalid("invalid range in character class")
	errCollating         = invalid("POSIX collating elements are not supported")
	errNoGroup           = invalid("reference to non-existent subpattern")
	errNoAssertion       = invalid("assertion expected after (?( or (?(?C)")
	errUnrepeatable      = invalid("quantifier does not follow a repeatable item")
	errUnknownVerb       = invalid("(*VERB) not recognized or malformed")
	errUnknownEscape     = invalid("unrecognized character follows \\")
	errUnsupportedEscape = invalid("PCRE2 does not support \\F, \\L, \\l, \\N{name}, \\U, or \\u")
	errAfterG            = invalid("\\g is not followed by a braced, angle-bracketed, or quoted name/number or by a plain number")
)

// unknownClassEscape is the error of a letter whose escape means nothing within a class.
func unknownClassEscape(c byte) error {
	if strings.IndexByte("ABCGKRXZkz", c) >= 0 {
		return invalid("escape sequence is invalid in character class")
	}
	return errUnknownEscape
}

// phase is when PCRE2 finds an error. It reads a whole pattern before it looks at the lengths of
// lookbehinds, and compiles it then.
type phase int

const (
	phaseLookbehind phase = iota
	phaseCompile
	phases
)

// fail notes an error that PCRE2 finds after it has read the pattern.
func (t *translator) fail(when phase, reason string) { t.deferError(when, invalid(reason)) }

func (t *translator) deferError(when phase, err error) {
	if t.deferred[when] == nil {
		t.deferred[when] = err
	}
}

// lacks notes what no engine has: an error unless the pattern is invalid.
func (t *translator) lacks(what string) {
	if t.missing == nil {
		t.missing = notImplemented(what)
	}
}

// judge returns the first error that PCRE2 would find.
func (t *translator) judge() error {
	for _, err := range t.deferred {
		if err != nil {
			return err
		}
	}
	return t.missing
}
