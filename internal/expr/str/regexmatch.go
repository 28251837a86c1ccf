package str

import (
	"errors"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pcre"
)

// Error codes for a pattern that does not compile or whose match fails.
const (
	codeInvalidFlag    = mongoerr.Code(51108)
	codePatternInvalid = mongoerr.Code(51091)
	codeRegexInvalid   = mongoerr.Code(51111)
	codeMatchFailed    = mongoerr.Code(51156)
)

// regexExpr is $regexFind, $regexFindAll or $regexMatch.
type regexExpr struct {
	name                  string
	input, regex, options expr.Expr // options is nil if absent
	run                   func(e *regexExpr, re *pcre.Regexp, text []byte) (bsonx.Value, error)
	none                  bsonx.Value // the result if input or regex is null

	running *interrupt.Running
	// last caches the compiled pattern of the last document. Most documents use the same pattern.
	last *atomic.Pointer[compiledRegex]
}

type compiledRegex struct {
	pattern, options string
	re               *pcre.Regexp
}

func (e *regexExpr) Children() []expr.Expr {
	return expr.Present([]expr.Expr{e.input, e.regex, e.options})
}

func regexFindDefinition() expr.Definition    { return regex("$regexFind") }
func regexFindAllDefinition() expr.Definition { return regex("$regexFindAll") }
func regexMatchDefinition() expr.Definition   { return regex("$regexMatch") }

func regex(name string) expr.Definition {
	return expr.Definition{
		Name: name, Family: family, Parse: parseRegex, Arguments: []string{"input", "regex", "options"},
		Total: feature.No, Folds: feature.No, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func parseRegex(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(51103, "%s expects an object of named arguments but found: %s", def.Name, arg.Type)
	}
	args, err := p.NamedArgs(arg, vars, expr.UnknownArgument{Code: 31024, Text: expr.FoundUnknown},
		def.Name, "input", "regex", "options")
	if err != nil {
		return nil, err
	}
	if args[0] == nil {
		return nil, mongoerr.New(31022, "%s requires 'input' parameter", def.Name)
	}
	if args[1] == nil {
		return nil, mongoerr.New(31023, "%s requires 'regex' parameter", def.Name)
	}
	e := &regexExpr{
		name: def.Name, input: args[0], regex: args[1], options: args[2], running: vars.Scripts().Running,
		last: &atomic.Pointer[compiledRegex]{},
	}
	switch def.Name {
	case "$regexFind":
		e.run, e.none = (*regexExpr).find, bsonx.Null
	case "$regexFindAll":
		e.run, e.none = (*regexExpr).findAll, bsonx.NewArray()
	default:
		e.run, e.none = (*regexExpr).match, bsonx.False
	}
	e.precompile(vars.Failures())
	return e, nil
}

// precompile compiles a constant pattern with constant options. It records an error in failures.
func (e *regexExpr) precompile(failures *expr.Failures) {
	regex, ok := expr.ConstValue(e.regex)
	options := bsonx.Missing
	if ok && e.options != nil {
		options, ok = expr.ConstValue(e.options)
	}
	if ok {
		_, err := e.compile(regex, options)
		failures.Add(err)
	}
}

func (e *regexExpr) Eval(ctx *expr.Context) (bsonx.Value, error) {
	input, err := e.input.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	regex, err := e.regex.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	options, err := expr.EvalOptional(ctx, e.options)
	if err != nil {
		return bsonx.Missing, err
	}
	re, err := e.compile(regex, options)
	if err != nil {
		return bsonx.Missing, err
	}
	if !expr.Nullish(input) && input.Type != bsonx.TypeString {
		return bsonx.Missing, mongoerr.New(51104, "%s needs 'input' to be of type string", e.name)
	}
	if expr.Nullish(input) || re == nil {
		return e.none, nil
	}
	if err := ctx.Read(len(input.Data), e.running); err != nil {
		return bsonx.Missing, err
	}
	if !utf8.Valid(input.StrBytes()) {
		return bsonx.Missing, mongoerr.New(codeMatchFailed, "Error occurred while executing the regular expression in %s: the input is not UTF-8", e.name)
	}
	return e.run(e, re, input.StrBytes())
}

// compile returns the compiled pattern, or nil if the pattern is null.
func (e *regexExpr) compile(regex, options bsonx.Value) (*pcre.Regexp, error) {
	if !expr.Nullish(regex) && regex.Type != bsonx.TypeString && regex.Type != bsonx.TypeRegex {
		return nil, mongoerr.New(51105, "%s needs 'regex' to be of type string or regex", e.name)
	}
	if !expr.Nullish(options) && options.Type != bsonx.TypeString {
		return nil, mongoerr.New(51106, "%s needs 'options' to be of type string", e.name)
	}
	if expr.Nullish(regex) {
		return nil, nil
	}
	var pattern, letters string
	if regex.Type == bsonx.TypeRegex {
		pattern, letters = regex.Regex()
		if letters != "" && !expr.Nullish(options) {
			return nil, mongoerr.New(51107, "%s: found regex option(s) specified in both 'regex' and 'option' fields", e.name)
		}
	} else {
		pattern = regex.Str()
	}
	if !expr.Nullish(options) {
		letters = options.Str()
	}
	if last := e.last.Load(); last != nil && last.pattern == pattern && last.options == letters {
		return last.re, nil
	}
	re, err := e.compilePattern(pattern, letters)
	if err == nil {
		e.last.Store(&compiledRegex{pattern, letters, re})
	}
	return re, err
}

func (e *regexExpr) compilePattern(pattern, letters string) (*pcre.Regexp, error) {
	if strings.IndexByte(pattern, 0) >= 0 {
		return nil, mongoerr.New(51109, "%s: regular expression cannot contain an embedded null byte", e.name)
	}
	if strings.IndexByte(letters, 0) >= 0 {
		return nil, mongoerr.New(51110, "%s: regular expression options cannot contain an embedded null byte", e.name)
	}
	re, err := pcre.Compile(pattern, letters)
	var invalid *mongoerr.Error
	if errors.As(err, &invalid) && invalid.Code == codePatternInvalid {
		return nil, mongoerr.New(codeRegexInvalid, "Invalid Regex in %s: %s", e.name, pcre.Reason(invalid))
	}
	if invalid != nil && invalid.Code == codeInvalidFlag {
		err = invalid.Prefix("%s", e.name)
	}
	return re, err
}

func (e *regexExpr) match(re *pcre.Regexp, text []byte) (bsonx.Value, error) {
	ok, err := re.Match(text, e.running)
	return bsonx.Bool(ok), err
}

func (e *regexExpr) find(re *pcre.Regexp, text []byte) (bsonx.Value, error) {
	m, err := re.Find(text, e.running)
	if err != nil || m == nil {
		return bsonx.Null, err
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	appendMatch(b, text, m, utf8.RuneCount(text[:m[0].Start]))
	b.End()
	return bsonx.Document(b.Bytes()), nil
}

func (e *regexExpr) findAll(re *pcre.Regexp, text []byte) (bsonx.Value, error) {
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	runes, counted := 0, 0
	err := re.FindAll(text, e.running, func(m pcre.Match) error {
		runes += utf8.RuneCount(text[counted:m[0].Start])
		counted = m[0].Start
		b.StartDocElem()
		appendMatch(b, text, m, runes)
		b.End()
		if b.Len() > limits.RegexOutputBytes {
			return mongoerr.New(51151, "%s: the size of buffer to store output exceeded the 64MB limit", e.name)
		}
		return nil
	})
	if err != nil {
		return bsonx.Missing, err
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}

// appendMatch appends the fields of a match to b. at is the position of the match in code points.
func appendMatch(b *bsonx.Builder, text []byte, m pcre.Match, at int) {
	b.String("match", string(text[m[0].Start:m[0].End]))
	b.Int32("idx", int32(at))
	b.StartArrayField("captures")
	for _, group := range m[1:] {
		if group.Start < 0 {
			b.Elem(bsonx.Null)
		} else {
			b.Elem(bsonx.String(string(text[group.Start:group.End])))
		}
	}
	b.End()
}
