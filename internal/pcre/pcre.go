package pcre

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/dlclark/regexp2"

	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// These are the codes of MongoDB's errors for regular expressions.
const (
	codeInvalidPattern = mongoerr.Code(51091)
	codeInvalidOption  = mongoerr.Code(51108)
	codeMatchFailed    = mongoerr.Code(51156)
)

// Regexp is a compiled regular expression.
type Regexp struct {
	// literal is the whole pattern if isLiteral is true. If anchored is true, the literal must be
	// at the start of the text.
	literal             []byte
	isLiteral, anchored bool

	linear *regexp.Regexp // nil if only the backtracking engine can run the pattern
	// newlineMatters is true if the linear engine would return a wrong result for texts that end
	// with a newline.
	newlineMatters bool
	backtracking   func() (*regexp2.Regexp, error)
	source         string // the pattern for the backtracking engine
	captures       int    // how many groups capture
	least          int    // length of the shortest match in characters
	// positionsMatter is true if the linear engine knows whether a text matches, but not where.
	// resets is true if \K may move the beginning of a match.
	positionsMatter, resets bool
	// deep is true if the stack of the backtracking engine grows with the text.
	deep       bool
	mayBeEmpty func() bool // whether the linear engine can match an empty text
	program    func() int  // how many instructions the linear engine needs
	// later matches with the linear engine, but only after the first character of a text.
	later func() *regexp.Regexp
}

// Compile compiles a pattern with MongoDB's option letters: i, m, s, x, u.
func Compile(pattern, options string) (*Regexp, error) {
	if strings.ContainsRune(pattern, 0) || strings.ContainsRune(options, 0) {
		return nil, mongoerr.New(mongoerr.BadValue, "Regular expression cannot contain an embedded null byte")
	}
	var fl flags
	for _, letter := range options {
		if !fl.set(letter) {
			return nil, mongoerr.New(codeInvalidOption, " invalid flag in regex options: %c", letter)
		}
	}
	if len(pattern) > limits.PatternBytes {
		return nil, invalid("pattern string is longer than the limit set by the application")
	}
	if why := badUTF8(pattern); why != "" {
		return nil, invalid("UTF-8 error: " + why)
	}
	t, err := translate(pattern, fl)
	if err != nil {
		return nil, err
	}
	return t.compile(fl)
}

func (t *translator) compile(fl flags) (*Regexp, error) {
	r := &Regexp{
		newlineMatters: t.out.newlineMatters, captures: t.dir.captures, least: t.whole.min,
		positionsMatter: t.out.positionsMatter, resets: t.out.resets, deep: t.out.loops,
	}
	if t.out.isLiteral && !fl.ignoreCase {
		r.literal, r.isLiteral, r.anchored = t.out.literal, true, t.out.anchored
		return r, nil
	}
	inline := ""
	if fl.ignoreCase {
		inline = "(?i)"
	}
	if t.out.linearOK {
		// Go rejects some patterns, for example very large repetitions. Then linear is nil, and the
		// backtracking engine matches the pattern.
		r.linear, _ = regexp.Compile(inline + string(t.out.linear))
		r.mayBeEmpty = sync.OnceValue(func() bool { return mayBeEmpty(r.linear.String()) })
		r.program = sync.OnceValue(func() int { return programSize(r.linear.String()) })
		r.later = sync.OnceValue(func() *regexp.Regexp {
			return regexp.MustCompile(`\A(?s:.)(?s:.*?)(` + r.linear.String() + `)`)
		})
	}
	r.source = inline + string(t.out.backtracking)
	r.backtracking = sync.OnceValues(func() (*regexp2.Regexp, error) { return r.newBacktracking(briefTimeout) })
	if r.linear == nil {
		if _, err := r.backtracking(); err != nil {
			return nil, invalid(err.Error())
		}
	}
	return r, nil
}

// MayFail reports whether Match can return an error. This is possible if it may use the
// backtracking engine.
func (r *Regexp) MayFail() bool { return !r.isLiteral && (r.linear == nil || r.newlineMatters) }

// Match reports whether text contains a match. It fails if the backtracking engine runs out of time
// or the operation was interrupted. running may be nil.
func (r *Regexp) Match(text []byte, running *interrupt.Running) (bool, error) {
	if err := look(text, running); err != nil {
		return false, err
	}
	switch {
	case r.isLiteral && r.anchored:
		return bytes.HasPrefix(text, r.literal), nil
	case r.isLiteral:
		return bytes.Contains(text, r.literal), nil
	case len(text) < r.least:
		return false, nil
	case !r.runsLinear(text):
		runes, err := runesOf(text, running)
		if err != nil {
			return false, err
		}
		return backtrack(r, len(text), running, func(re *regexp2.Regexp) (bool, error) { return re.MatchRunes(runes) })
	case r.isLong(text):
		reader := &runeReader{text: text, running: running}
		ok := r.linear.MatchReader(reader)
		return ok, reader.err
	}
	return r.linear.Match(text), nil
}

// runsLinear reports whether the linear engine returns the right result for a text.
func (r *Regexp) runsLinear(text []byte) bool {
	return r.linear != nil && !(r.newlineMatters && len(text) > 0 && text[len(text)-1] == '\n')
}

func matchFailed() error {
	return mongoerr.New(codeMatchFailed, "Error occurred while executing the regular expression: match limit exceeded")
}

func invalid(reason string) error {
	return mongoerr.New(codeInvalidPattern, "Regular expression is invalid: %s", reason)
}

func notImplemented(what string) error {
	return mongoerr.New(mongoerr.NotImplemented, "%s in a regular expression is not implemented", what)
}

// Reason returns the reason why a pattern does not compile, without the prefix that Compile adds.
func Reason(err error) string {
	var invalid *mongoerr.Error
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	return strings.TrimPrefix(invalid.Message, "Regular expression is invalid: ")
}
