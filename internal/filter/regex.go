package filter

import (
	"strings"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pcre"
)

var regexFailure = &failure{
	no: "regular expression did not match", yes: "regular expression did match",
	expected: []string{"regex", "string", "symbol"},
}

// regexWork is the work of compiling one regular expression, in the units of interrupt.Meter.
const regexWork = 256 * interrupt.Step

// regexWeight is the work of matching a regular expression, per byte of the document.
const regexWeight = 64

// Regex is $regex: it matches a string that contains a match of a Perl-compatible regular
// expression, and a value that is the same regular expression.
type Regex struct {
	leaf
	Pattern, Options string

	re *pcre.Regexp
}

// newRegex compiles a regular expression.
func newRegex(path, pattern, options string) (*Regex, error) {
	re, err := pcre.Compile(pattern, options)
	if err != nil {
		return nil, err
	}
	return &Regex{leaf: newLeaf(path), Pattern: pattern, Options: options, re: re}, nil
}

// Kind returns KindRegex.
func (*Regex) Kind() Kind { return KindRegex }

func (n *Regex) matchDoc(doc bsonx.Doc, st *state) bool { return n.path.match(doc, Elements, n, st) }

func (n *Regex) matchElem(v bsonx.Value, st *state) bool {
	switch v.Type {
	case bsonx.TypeString, bsonx.TypeSymbol:
		ok, err := n.re.Match(v.StrBytes(), st.operation())
		if err != nil && st != nil {
			return st.fail(err)
		}
		return ok
	case bsonx.TypeRegex:
		pattern, options := v.Regex()
		return pattern == n.Pattern && options == n.Options
	default:
		return false
	}
}

func (n *Regex) serialize(b *serializer) { serializeLeaf(b, n) }

func (n *Regex) serializeOperator(b *serializer) {
	b.String("$regex", n.Pattern)
	if n.Options != "" {
		b.String("$options", n.Options)
	}
}

// regexValue compiles a literal regular expression as the value of a path.
func (p *parser) regexValue(path string, v bsonx.Value) (Node, error) {
	if err := p.meter.Did(regexWork, p.running); err != nil {
		return nil, err
	}
	if err := p.hold(regexBytes); err != nil {
		return nil, err
	}
	pattern, options := v.Regex()
	return newRegexNode(path, pattern, options)
}

func newRegexNode(path, pattern, options string) (Node, error) {
	n, err := newRegex(path, pattern, options)
	if err != nil {
		return nil, err
	}
	return n, nil
}

// parseRegex compiles $regex with the $options of the same document. If both the regular expression
// and $options contain options, the error depends on the order of the two fields.
func parseRegex(_ *parser, f field) (Node, error) {
	pattern, options := "", ""
	for it := f.context.Iter(); it.Next(); {
		v := it.Value()
		switch string(it.Key()) {
		case "$regex":
			switch v.Type {
			case bsonx.TypeString:
				pattern = v.Str()
			case bsonx.TypeRegex:
				literal, flags := v.Regex()
				pattern = literal
				if flags == "" {
					break
				}
				if options != "" {
					return nil, mongoerr.New(51074, "options set in both $regex and $options")
				}
				options = flags
			default:
				return nil, mongoerr.New(mongoerr.BadValue, "$regex has to be a string")
			}
		case "$options":
			if v.Type != bsonx.TypeString {
				return nil, mongoerr.New(mongoerr.BadValue, "$options has to be a string")
			}
			if options != "" {
				return nil, mongoerr.New(51075, "options set in both $regex and $options")
			}
			options = v.Str()
		}
	}
	return newRegexNode(f.path, pattern, options)
}

// parseOptions returns an error for $options without a $regex in the same document. parseRegex
// reads the options.
func parseOptions(_ *parser, f field) (Node, error) {
	if f.context.Lookup("$regex").IsMissing() {
		return nil, mongoerr.New(mongoerr.BadValue, "$options needs a $regex")
	}
	return nil, nil
}

// Prefix returns a literal string with which all matches begin. It is "" if an index could not use
// it. exact reports whether the regular expression matches exactly the strings that begin with the
// prefix.
func (n *Regex) Prefix() (prefix string, exact bool) {
	rest, multiline := strings.CutPrefix(n.Pattern, `\A`)
	if !multiline {
		var anchored bool
		if rest, anchored = strings.CutPrefix(n.Pattern, "^"); !anchored {
			return "", false
		}
	}
	if strings.Contains(rest, "|") {
		return "", false
	}
	extended := false
	for _, flag := range n.Options {
		switch flag {
		case 'm':
			if !multiline {
				return "", false
			}
		case 's', 'u':
		case 'x':
			extended = true
		default:
			return "", false
		}
	}
	return literalPrefix(rest, extended)
}

// literalPrefix returns the literal characters before the first character with a special meaning.
// It also reports whether the whole pattern is literal.
func literalPrefix(pattern string, extended bool) (string, bool) {
	var prefix []byte
	for pattern != "" {
		if n := pcre.Nothing(pattern, extended); n > 0 {
			pattern = pattern[n:]
			continue
		}
		c, n := utf8.DecodeRuneInString(pattern)
		switch {
		// The last character is optional, so it does not count.
		case c == '*' || c == '?' || c == '{':
			_, n := utf8.DecodeLastRune(prefix)
			return string(prefix[:len(prefix)-n]), false
		case strings.HasPrefix(pattern, `\Q`):
			text, rest, _ := strings.Cut(pattern[len(`\Q`):], `\E`)
			prefix, pattern = append(prefix, text...), rest
			continue
		case c == '\\':
			pattern = pattern[n:]
			if c, n = utf8.DecodeRuneInString(pattern); pattern == "" || isAlphanumeric(c) {
				return string(prefix), false
			}
		case strings.ContainsRune("^$.[()+", c):
			return string(prefix), false
		}
		prefix, pattern = append(prefix, pattern[:n]...), pattern[n:]
	}
	return string(prefix), len(prefix) > 0
}

func isAlphanumeric(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
