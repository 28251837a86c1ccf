package pcre

import "strings"

// The errors that several places return.
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

// unknownClassEscape returns the error for a letter whose escape has no meaning in a class.
func unknownClassEscape(c byte) error {
	if strings.IndexByte("ABCGKRXZkz", c) >= 0 {
		return invalid("escape sequence is invalid in character class")
	}
	return errUnknownEscape
}

// phase says when PCRE2 finds an error. It first reads the whole pattern, then checks the lengths
// of lookbehinds, and then compiles the pattern.
type phase int

const (
	phaseLookbehind phase = iota
	phaseCompile
	phases
)

// findings are errors after which reading the pattern continues.
type findings struct {
	deferred [phases]error // errors found after the whole pattern was read
	missing  error         // the first part of a valid pattern that neither engine supports
}

// fail records an error that PCRE2 finds after it has read the pattern.
func (f *findings) fail(when phase, reason string) { f.deferError(when, invalid(reason)) }

func (f *findings) deferError(when phase, err error) {
	if f.deferred[when] == nil {
		f.deferred[when] = err
	}
}

// lacks records a feature that neither engine supports. It becomes an error only if the pattern is
// valid.
func (f *findings) lacks(what string) {
	if f.missing == nil {
		f.missing = notImplemented(what)
	}
}

// judge returns the first error that PCRE2 would find.
func (f *findings) judge() error {
	for _, err := range f.deferred {
		if err != nil {
			return err
		}
	}
	return f.missing
}
