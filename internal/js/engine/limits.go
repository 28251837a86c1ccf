package engine

import (
	_ "embed" // for the limits
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

//go:embed limits.js
var limitsSource string

const (
	// regexTimeout is the time limit for one match of a regular expression that goja passes to
	// regexp2. That library backtracks and does not check for interrupts.
	regexTimeout = 100 * time.Millisecond
	// regexTick is the precision of regexp2's time limit.
	regexTick = 10 * time.Millisecond
	// maxSearched is the largest number of characters that a regular expression searches.
	maxSearched = 1 << 23
	// maxSource is the largest size of a function's source in bytes. maxNesting is its largest
	// nesting depth, because the parser recurses and needs up to 4 KiB of stack per level.
	maxSource  = 1 << 20
	maxNesting = 20_000
	// maxListLength is the largest length of a list that a built-in function visits. Documents
	// rarely have more elements.
	maxListLength = 1_000_000
	// maxTextNesting is the largest nesting depth of JSON texts, and of values that are converted
	// to text. maxTextBytes is their largest size. maxTextValues is the largest number of values in
	// a JSON text, each of which takes up to 600 ns.
	maxTextNesting = 1000
	maxTextBytes   = 16 << 20
	maxTextValues  = 1 << 18
	// valueSize is the number of bytes that checkText adds for each value besides its text. It
	// accounts for the time of converting an empty value.
	valueSize = 24
	// maxChars is the largest length of a text, in characters.
	maxChars = 1 << 25
	// maxWideMade is the largest length of a text with non-ASCII characters that a script creates.
	// Converting such a text, for example to a number, takes 20 to 40 ns per character.
	maxWideMade = 1 << 22
	// maxPretended is the largest length of a list that is not an array. Reading or setting one of
	// its elements takes half a microsecond.
	maxPretended = 200_000
	// maxLooks is the largest number of searches for elements in a list and its prototypes during
	// one call. A search takes up to 30 ns.
	maxLooks = 1 << 23
	// large is the number of characters or elements from which a function checks the memory before
	// it allocates.
	large = 1 << 14
	// elementSize is the memory of an element of a list, in bytes.
	elementSize = 16
)

// limitsProgram is compiled at the first use. Changing regexp2's global default is safe for this
// project, because only goja uses version 2 of regexp2.
var limitsProgram = sync.OnceValues(func() (*goja.Program, error) {
	regexp2.DefaultMatchTimeout = regexTimeout
	regexp2.SetTimeoutCheckPeriod(regexTick)
	return goja.Compile("limits.js", limitsSource, true)
})

// limiter limits the built-in functions of an engine that visit lists and texts.
type limiter struct {
	rt    *goja.Runtime
	watch *watch
	// rangeError is the original class RangeError. A script may have replaced the global variable.
	rangeError goja.Value
	// checkPlain throws an error for a list whose length may change by itself.
	checkPlain goja.Callable
	// walked contains the lists that array methods are visiting at the moment.
	walked []walked
	// joins is the nesting depth of join calls.
	joins int
}

// setLimits wraps the built-in functions of the engine with limits.
func (e *engine) setLimits() error {
	l := &e.limits
	l.rangeError = e.rt.GlobalObject().Get("RangeError")
	if err := l.setIterators(); err != nil {
		return err
	}
	if err := errors.Join(l.setArrays(), l.setGenerators(), e.setEval()); err != nil {
		return err
	}
	natives, err := nativeObject(e.rt, map[string]any{
		"maxLength":     maxListLength,
		"countKeys":     countKeys,
		"isWide":        func(call goja.FunctionCall) goja.Value { return e.rt.ToValue(isWide(call.Argument(0))) },
		"checkSize":     l.checked(l.checkText),
		"checkText":     l.checked(func(v goja.Value) error { return checkTextNesting(v.String()) }),
		"checkSource":   l.checked(func(v goja.Value) error { return checkSource(v.String()) }),
		"compile":       e.compileText,
		"run":           e.runText,
		"variables":     e.variables,
		"compileDirect": e.compileDirect,
		"runDirect":     e.runDirect,
		"defineHidden": func(name string, v goja.Value) error {
			return e.defineHidden(unistring.NewFromString(name), v)
		},
		"room":           e.watch.room,
		"checkWide":      l.checkWide,
		"trim":           l.trim,
		"join":           l.join,
		"compareNumbers": l.compareNumbers,
		"heard":          l.heard,
		"checkChain":     l.checkChain,
		"relinked":       l.relinked,
		"setCheckPlain":  func(f goja.Callable) { l.checkPlain = f },
		"checkChars":     e.checkChars,
		"large":          large,
		"elementSize":    elementSize,
	})
	if err != nil {
		return err
	}
	tools, err := callProgram(e.rt, limitsProgram, e.rt.GlobalObject(), natives)
	if err != nil {
		return err
	}
	return e.regexps.define(e.checkChars, tools)
}

// compileText compiles the text of eval or Function. For a syntax error it returns the message
// instead.
func (e *engine) compileText(source string) any {
	s, err := compileChecked(source, false)
	if err != nil {
		return syntaxMessage(err)
	}
	return s
}

// syntaxMessage returns the message of a SyntaxError.
func syntaxMessage(err error) string {
	var refused *mongoerr.Error
	if errors.As(err, &refused) {
		return strings.TrimPrefix(refused.Message, "SyntaxError: ")
	}
	return err.Error()
}

// runText runs a program of compileText. It passes an exception on as a panic.
func (e *engine) runText(s *script) goja.Value {
	v, err := e.runScript(s)
	if err != nil {
		panic(err)
	}
	return v
}

// refusal returns the error value that a script gets for a limit: a RangeError if the text of err
// begins with this name.
func (l *limiter) refusal(err error) goja.Value {
	var refused *mongoerr.Error
	if !errors.As(err, &refused) {
		return l.rt.NewGoError(err)
	}
	text, ok := strings.CutPrefix(refused.Message, "RangeError: ")
	if !ok {
		return l.rt.NewGoError(err)
	}
	v, err := l.rt.New(l.rangeError, l.rt.ToValue(text))
	if err != nil {
		panic(err)
	}
	return v
}

// checked returns a JavaScript function that throws the error of check.
func (l *limiter) checked(check func(goja.Value) error) func(goja.FunctionCall) goja.Value {
	return func(call goja.FunctionCall) goja.Value {
		if err := check(call.Argument(0)); err != nil {
			panic(l.refusal(err))
		}
		return goja.Undefined()
	}
}
