package pcre

import "strings"

// These errors occur in several places.
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

// unknownClassEscape returns the error for a letter that is not a valid escape in a class.
func unknownClassEscape(c byte) error {
	if strings.IndexByte("ABCGKRXZkz", c) >= 0 {
		return invalid("escape sequence is invalid in character class")
	}
	return errUnknownEscape
}

// phase is the time when PCRE2 finds an error. PCRE2 parses the whole pattern first. Then it checks
// the lengths of lookbehinds, and then it compiles the pattern.
type phase int

const (
	phaseLookbehind phase = iota
	phaseCompile
	phases
)

// findings records errors that do not stop the translation of the pattern.
type findings struct {
	deferred [phases]error // errors that PCRE2 finds after parsing
	missing  error         // the first part of a valid pattern that neither engine supports
}

// fail records an error that PCRE2 finds after it has parsed the pattern.
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
