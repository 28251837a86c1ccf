package engine

import (
	_ "embed" // for the regular expressions
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	goparser "github.com/dop251/goja/parser"
)

//go:embed regexp.js
var regexpSource string

const (
	// maxPattern is the largest length of a regular expression, in characters.
	maxPattern = 1 << 15
	// maxInstructions is the largest number of instructions in the program of a regular expression.
	// maxLiterals is the largest number for all literals of a source together. An instruction takes
	// about 80 bytes.
	maxInstructions = 1 << 16
	maxLiterals     = 1 << 18
	// maxCaptures is the largest product of instructions and groups, because each thread of a
	// search keeps all groups.
	maxCaptures = 1 << 21
	// maxWideRanges is the largest number of ranges of non-ASCII characters in a pattern that
	// ignores case. Folding the case of one range takes up to 1.5 ms.
	maxWideRanges = 32
	// maxFolds is the largest cost of folding the case of ., \W, \D and \S in regexp2, in the units
	// of foldCost. A unit takes 17 ms.
	maxFolds = 8
	// maxWide is the largest number of non-ASCII characters in a pattern for regexp2, whose
	// character classes take quadratic time.
	maxWide = 1 << 13
	// maxSteps is the largest product of instructions and characters for a search by goja without
	// checks for interrupts. An instruction takes up to 12 ns per character.
	maxSteps = 1 << 22
	// smallest is the number of instructions that is assumed for the largest expression at first,
	// before a larger one is compiled.
	smallest = 16
	// lookSteps is the number of steps (instructions times characters) between two checks for
	// interrupts in a search.
	lookSteps = 1 << 16
)

// regexpProgram is compiled at the first use.
var regexpProgram = sync.OnceValues(func() (*goja.Program, error) {
	return goja.Compile("regexp.js", regexpSource, true)
})

// regexps limits the regular expressions of an engine.
type regexps struct {
	rt     *goja.Runtime
	watch  *watch
	limits *limiter
	// natives contains the Go functions for regexp.js. It is nil while the prelude runs.
	natives *goja.Object
	// steps and groups are the largest values of all regular expressions so far.
	steps, groups int
	// quick is the number of steps that a search may take without a check for interrupts: maxSteps,
	// or less in tests.
	quick int64
	// searchers caches expressions compiled for searching long texts. searched is the total number
	// of their instructions.
	searchers map[string]searcher
	searched  int
}

// define wraps the built-in functions for regular expressions with limits. checkChars comes from
// concat.js, and tools is the result of limits.js.
func (x *regexps) define(checkChars, tools goja.Value) error {
	natives, err := nativeObject(x.rt, map[string]any{
		"maxNative":   regexTimeout.Milliseconds(),
		"maxSearched": maxSearched,
		"checkChars":  checkChars,
		"checkWide":   x.limits.checkWide,
		"check": func(call goja.FunctionCall) goja.Value {
			size, err := sizeOf(call.Argument(0).String(), call.Argument(1).String())
			if err != nil {
				panic(x.limits.refusal(err))
			}
			x.compiled(size)
			return goja.Undefined()
		},
		"search": x.search,
		"backtracks": func(call goja.FunctionCall) goja.Value {
			return x.rt.ToValue(x.searcher(call.Argument(0), call.Argument(1).String()).re == nil)
		},
	})
	if err != nil {
		return err
	}
	x.natives = natives
	x.compiled(patternSize{instructions: smallest})
	_, err = callProgram(x.rt, regexpProgram, x.rt.GlobalObject(), natives, tools)
	return err
}

// compiled records the size of a script's regular expression. A text that is short enough for the
// largest expression is searched without a check of the expression.
func (x *regexps) compiled(size patternSize) {
	if x.natives == nil {
		return // expressions of the prelude are small, or match only at the start of a text
	}
	x.steps, x.groups = max(x.steps, size.steps()), max(x.groups, size.groups)
	if err := errors.Join(x.natives.Set("short", x.quick/int64(x.steps)),
		x.natives.Set("groups", x.groups)); err != nil {
		panic(x.rt.NewGoError(err))
	}
}

// patternSize is the size of a regular expression's program, which determines the cost of a search.
type patternSize struct{ instructions, groups int }

// steps returns the cost of a search per character, in units of one instruction without groups.
func (s patternSize) steps() int { return s.instructions * (1 + s.groups/8) }

func (s patternSize) fits() bool {
	return s.instructions <= maxInstructions && s.instructions*s.groups <= maxCaptures
}

// wideRange matches the end of a range of non-ASCII characters.
var wideRange = regexp.MustCompile(`-(?:\\[ux]|\\?[^\x00-\x7f])`)

// propertyEscape matches \p or \P in a pattern. Without the flag u this is an escaped letter.
var propertyEscape = regexp.MustCompile(`^(?:[^\\]|\\[^pP])*\\[pP]`)

// sizeOf measures a regular expression before it is compiled. It returns an error if compiling
// would take too long or too much memory.
func sizeOf(pattern, flags string) (patternSize, error) {
	if len(pattern) > maxPattern && utf8.RuneCountInString(pattern) > maxPattern {
		return patternSize{}, failure("RangeError: a regular expression is longer than %d characters", maxPattern)
	}
	if strings.Contains(flags, "i") && len(wideRange.FindAllStringIndex(pattern, maxWideRanges+1)) > maxWideRanges {
		return patternSize{}, failure("RangeError: a regular expression that ignores the case has more than %d ranges beyond "+
			"ASCII: leave out the flag i", maxWideRanges)
	}
	if strings.Contains(flags, "u") && propertyEscape.MatchString(pattern) {
		return patternSize{}, failure(`SyntaxError: \p{...} and \P{...} are not supported in a regular expression with the flag u: ` +
			"list the characters, as in [a-zà-ÿ]")
	}
	if err := checkBacktracking(pattern, flags); err != nil {
		return patternSize{}, err
	}
	size := patternSize{2*len(pattern) + 8, strings.Count(pattern, "(")}
	if !strings.Contains(pattern, "{") && size.fits() {
		return size, nil
	}
	source, ok := goPattern(utf16.Encode([]rune(pattern)), flags)
	if !ok {
		return size, nil // regexp2 implements repetition as a loop, and keeps groups once
	}
	compiled, ok := compiledSize(source)
	if !ok {
		return size, nil // Go's package regexp rejects the pattern
	}
	if size = compiled; !size.fits() {
		return size, failure("RangeError: a regular expression is too large: write fewer or smaller repetitions {n,m}, and groups "+
			"(?:...) for (...), or split it into several; it has %d instructions and %d groups", size.instructions, size.groups)
	}
	return size, nil
}

// checkBacktracking returns an error for a pattern that would take too long to compile with
// regexp2. goja passes a pattern to regexp2 if Go has no equivalent, or if a search starts at
// lastIndex.
func checkBacktracking(pattern, flags string) error {
	fold := strings.Contains(flags, "i") && foldCost(pattern) > maxFolds
	wide := 0
	for _, r := range pattern {
		if r >= utf8.RuneSelf {
			wide++
		}
	}
	if !fold && wide <= maxWide {
		return nil
	}
	if _, ok := goPattern(utf16.Encode([]rune(pattern)), flags); ok && !strings.ContainsAny(flags, "gy") {
		return nil
	}
	if fold {
		return failure("RangeError: a regular expression with the flag i has too many of ., \\W, \\D and \\S: leave out the flag, or write " +
			"classes such as [^a]")
	}
	return failure("RangeError: a regular expression has more than %d characters beyond ASCII: split it into several", maxWide)
}

// foldCost returns the cost of folding the case of a pattern's characters in regexp2, in units of
// one dot. \W, \D and \S cost two units.
func foldCost(pattern string) int {
	cost, class := 0, false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			if i++; strings.IndexByte("WDS", pattern[i]) >= 0 {
				cost += 2
			}
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '.' && !class:
			cost++
		}
	}
	return cost
}

// compiledSize measures a pattern of Go's package regexp. It reports false if the pattern is
// invalid.
func compiledSize(source string) (patternSize, bool) {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return patternSize{}, false
	}
	return patternSize{instructions(tree), tree.MaxCap()}, true
}

// instructions returns the approximate number of instructions that Go's package regexp compiles re
// to.
func instructions(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCapture:
		n = 2
	default:
	}
	for _, sub := range re.Sub {
		n += 1 + instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min+1, re.Max)
	}
	return n
}

// literals measures the regular expression literals of a source, which goja compiles together with
// the source.
type literals struct {
	largest patternSize
	total   int
	err     error
}

func (l *literals) add(e *ast.RegExpLiteral) {
	if l.err != nil {
		return
	}
	var size patternSize
	size, l.err = sizeOf(e.Pattern, e.Flags)
	l.largest = patternSize{max(l.largest.instructions, size.instructions), max(l.largest.groups, size.groups)}
	if l.total += size.instructions; l.total > maxLiterals && l.err == nil {
		l.err = failure("RangeError: the regular expressions of a function are too large together")
	}
}

// goPattern translates a pattern for Go's package regexp as goja does. It returns false if goja
// passes the pattern to regexp2 or rejects it.
func goPattern(units []uint16, flags string) (string, bool) {
	full := strings.Contains(flags, "u")
	source, err := goparser.TransformRegExp(patternText(units, full), strings.Contains(flags, "s"), full)
	if err != nil {
		return "", false
	}
	modes := ""
	for _, mode := range "msi" {
		if strings.ContainsRune(flags, mode) {
			modes += string(mode)
		}
	}
	if modes != "" {
		source = "(?" + modes + ":" + source + ")"
	}
	return source, true
}

// patternText returns a pattern as text. A surrogate pair becomes one character if full is true,
// and two escapes otherwise. A lone surrogate becomes an escape.
func patternText(units []uint16, full bool) string {
	var b strings.Builder
	for i := 0; i < len(units); i++ {
		r, next := rune(units[i]), rune(0)
		if i+1 < len(units) {
			next = rune(units[i+1])
		}
		escaped := i > 0 && units[i-1] == '\\'
		pair := utf16.DecodeRune(r, next)
		switch {
		case full && r == '\\' && escapedPair(units[i:]) != 0:
			b.WriteRune(escapedPair(units[i:]))
			i += 11
		case r == '\\' && next == '\\':
			b.WriteString(`\\`)
			i++
		case !utf16.IsSurrogate(r):
			b.WriteRune(r)
		case full && pair != utf8.RuneError:
			b.WriteRune(pair)
			i++
		default:
			if escaped {
				b.WriteByte('\\')
			}
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// escapedPair returns the character for two escaped surrogates, or 0 for other code units.
func escapedPair(units []uint16) rune {
	if len(units) < 12 {
		return 0
	}
	var first, second rune
	if n, err := fmt.Sscanf(string(utf16.Decode(units[:12])), `\u%04x\u%04x`, &first, &second); n != 2 || err != nil {
		return 0
	}
	if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
		return r
	}
	return 0
}

// searcher is a regular expression whose search can be interrupted. If re is nil, goja passes the
// expression to regexp2.
type searcher struct {
	re   *regexp.Regexp
	size patternSize
}

// searcher returns the compiled form of an expression, from the cache if possible.
func (x *regexps) searcher(pattern goja.Value, flags string) searcher {
	text, _ := pattern.(goja.String)
	units := make([]uint16, text.Length())
	key := []byte(flags + "/")
	for i := range units {
		units[i] = text.CharAt(i)
		key = binary.BigEndian.AppendUint16(key, units[i])
	}
	s, ok := x.searchers[string(key)]
	if ok {
		return s
	}
	s.size = patternSize{instructions: 1}
	if source, ok := goPattern(units, flags); ok {
		if size, ok := compiledSize(source); ok {
			s.size = size
			s.re, _ = regexp.Compile(source)
		}
	}
	if x.searched += s.size.instructions; x.searched > maxInstructions || x.searchers == nil {
		x.searchers, x.searched = map[string]searcher{}, s.size.instructions
	}
	x.searchers[string(key)] = s
	return s
}

// search finds the first match of a pattern in a text. It returns undefined if goja passes the
// pattern to regexp2, true if goja's own search is fast enough, and otherwise the result of exec.
func (x *regexps) search(call goja.FunctionCall) goja.Value {
	flags := call.Argument(1).String()
	s := x.searcher(call.Argument(0), flags)
	text, ok := call.Argument(2).(goja.String)
	switch {
	case !ok || s.re == nil:
		return goja.Undefined()
	case int64(text.Length())*int64(s.size.steps()) <= x.quick:
		return x.rt.ToValue(true)
	}
	reader := &textReader{
		watch: x.watch, text: text, full: strings.Contains(flags, "u"),
		interval: lookSteps/s.size.steps() + 1,
	}
	at := s.re.FindReaderSubmatchIndex(reader)
	x.watch.look()
	if at == nil {
		return goja.Null()
	}
	return x.match(text, at, s.re.SubexpNames())
}

// match returns the result of exec, in the form that goja returns.
func (x *regexps) match(text goja.String, at []int, names []string) goja.Value {
	values := make([]any, len(at)/2)
	var groups *goja.Object
	from := 0
	for i := range values {
		v := goja.Undefined()
		if start, end := at[2*i], at[2*i+1]; start >= 0 && end >= from {
			v = text.Substring(start, end)
			if i > 0 {
				from = start
			}
		}
		values[i] = v
		if names[i] == "" {
			continue
		}
		if groups == nil {
			groups = x.rt.CreateObject(nil)
		}
		x.set(groups, names[i], v)
	}
	match := x.rt.NewArray(values...)
	x.set(match, "input", text)
	x.set(match, "index", x.rt.ToValue(at[0]))
	if groups == nil {
		x.set(match, "groups", goja.Undefined())
	} else {
		x.set(match, "groups", groups)
	}
	return match
}

func (x *regexps) set(object *goja.Object, name string, v goja.Value) {
	if err := object.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE); err != nil {
		panic(x.rt.NewGoError(err))
	}
}

// textReader reads the characters of a text until the call is interrupted. Positions count UTF-16
// code units.
type textReader struct {
	watch *watch
	text  goja.String
	full  bool // a surrogate pair is one character
	at    int
	// interval is the number of code units between two checks for interrupts. next is the position
	// of the next check.
	interval, next int
}

func (r *textReader) ReadRune() (rune, int, error) {
	if r.at >= r.next {
		if r.watch.ended.Load() != nil {
			return 0, 0, io.EOF
		}
		r.next = r.at + r.interval
	}
	if r.at >= r.text.Length() {
		return 0, 0, io.EOF
	}
	c := rune(r.text.CharAt(r.at))
	r.at++
	if r.full && utf16.IsSurrogate(c) && r.at < r.text.Length() {
		if pair := utf16.DecodeRune(c, rune(r.text.CharAt(r.at))); pair != utf8.RuneError {
			r.at++
			return pair, 2, nil
		}
	}
	return c, 1, nil
}
