// Package pcre matches Perl-compatible regular expressions.
package pcre

import (
	"regexp"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Regexp is a compiled regular expression, safe for concurrent use.
type Regexp struct {
	re *regexp.Regexp
}

// Compile compiles a pattern with MongoDB's option letters: i, m, s, x, u.
func Compile(pattern, options string) (*Regexp, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, mongoerr.New(51091, "Regular expression is invalid: %v", err)
	}
	return &Regexp{re}, nil
}

// Match reports whether text contains a match.
func (r *Regexp) Match(text []byte) (bool, error) { return r.re.Match(text), nil }
