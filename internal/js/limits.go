package js

import (
	_ "embed" // for the limits
	"errors"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
	"github.com/dop251/goja/unistring"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

//go:embed limits.js
var limitsSource string

const (
	// regexTimeout ends one match of a regular expression that goja leaves to regexp2, which backtracks and would not notice
	// an interrupt.
	regexTimeout = 100 * time.Millisecond
	// regexTick is how exactly regexp2 measures the time.
	regexTick = 10 * time.Millisecond
	// maxSearched bounds the characters that a regular expression searches.
	maxSearched = 1 << 23
	// maxSource bounds the text of a function, maxNesting how deep what the parser may recurse into nests in it, which
	// takes up to 4 KiB of stack a level.
	maxSource  = 1 << 20
	maxNesting = 20_000
	// maxListLength bounds lists that a function of the language goes through: a document
	// has hardly more elements.
	maxListLength = 1_000_000
	// maxTextNesting bounds the nesting of JSON's text and of values that become text; maxTextBytes
	// their length; maxTextValues the values in a text of JSON, each of which takes up to 600 ns.
	maxTextNesting = 1000
	maxTextBytes   = 16 << 20
	maxTextValues  = 1 << 18
	// valueSize stands for the time that the text of even an empty value takes.
	valueSize = 24
	// maxChars bounds a text.
	maxChars = 1 << 25
	// maxWideMade bounds a text with characters beyond ASCII that a script makes: the language takes
	// 20 to 40 ns a character to convert one, for example to a number.
	maxWideMade = 1 << 22
	// maxPretended bounds a list that is no array: to read or set an element of one takes half a
	// microsecond.
	maxPretended = 200_000
	// maxLooks bounds how often one call looks for elements in a list and its prototypes. A look takes
	// up to 30 ns.
	maxLooks = 1 << 23
	// large is the number of characters or elements from which the memory is checked before they
	// are made.
	large = 1 << 14
	// elementSize is the memory of an element of a list, in bytes.
	elementSize = 16
)

// limits is compiled once. regexp2's default for all regular expressions is used by nothing else in the process.
var limits = sync.OnceValues(func() (*goja.Program, error) {
	regexp2.DefaultMatchTimeout = regexTimeout
	regexp2.SetTimeoutCheckPeriod(regexTick)
	return goja.Compile("limits.js", limitsSource, true)
})

// arrayMethods go through a whole array. They are called often, so that Go checks them.
var arrayMethods = [...]string{
	"copyWithin", "entries", "every", "fill", "filter", "find", "findIndex", "findLast", "findLastIndex", "forEach", "includes",
	"indexOf", "keys", "lastIndexOf", "map", "reduce", "reduceRight", "reverse", "shift", "slice", "some", "sort", "splice",
	"toReversed", "toSorted", "toSpliced", "unshift", "values", "with",
}

// takesFunction are the methods that call a function for each element, which hears an interrupt.
var takesFunction = map[string]bool{
	"every": true, "filter": true, "find": true, "findIndex": true, "findLast": true, "findLastIndex": true, "forEach": true,
	"map": true, "reduce": true, "reduceRight": true, "some": true,
}

// setArrayLimits lets no method of arrays go through more than maxListLength elements, which a list may only pretend to have.
func (e *engine) setArrayLimits() error {
	proto := e.rt.GlobalObject().Get("Array").ToObject(e.rt).Get("prototype").ToObject(e.rt)
	for _, name := range arrayMethods {
		v := proto.Get(name)
		if v == nil {
			continue
		}
		method, ok := v.Export().(func(goja.FunctionCall) goja.Value)
		if !ok {
			continue
		}
		err := proto.DefineDataProperty(name, e.rt.ToValue(func(call goja.FunctionCall) goja.Value {
			e.look()
			length, most := 0.0, maxListLength
			if list, ok := call.This.(*goja.Object); ok {
				if list.ClassName() != "Array" && e.checkPlain != nil {
					if _, err := e.checkPlain(goja.Undefined(), list); err != nil {
						panic(err)
					}
				}
				if n := list.Get("length"); n != nil {
					length = n.ToFloat()
				}
				if list.ClassName() != "Array" && !takesFunction[name] {
					most = maxPretended
				}
			}
			if length > float64(most) {
				panic(e.refusal(failure("RangeError: Invalid array length")))
			}
			if length > large {
				e.room(int64(length) * elementSize)
			}
			if list, ok := call.This.(*goja.Object); ok && length > 1 {
				e.checkChain(list, length)
				e.walked = append(e.walked, walked{list, length})
				defer func() { e.walked = e.walked[:len(e.walked)-1] }()
			}
			if name == "sort" || name == "toSorted" {
				call = e.sortCall(call, length)
			}
			return method(call)
		}), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
		if err != nil {
			return err
		}
	}
	return nil
}

// look ends the call with an error if it was interrupted.
func (e *engine) look() {
	if why := e.ended.Load(); why != nil {
		panic(e.rt.NewGoError(failure("Interrupted: %s", *why)))
	}
}

// walked is a list that a method goes through.
type walked struct {
	list   *goja.Object
	length float64
}

// checkChain refuses a list whose prototypes are too many for n reads: one that finds nothing looks
// into each of them.
func (e *engine) checkChain(list *goja.Object, n float64) {
	looks := n
	for p := list.Prototype(); p != nil; p = p.Prototype() {
		if looks += n; looks > maxLooks {
			panic(e.refusal(failure("RangeError: a list or an object has too many prototypes for its length")))
		}
	}
}

// relinked checks the lists again that methods go through: an object has got another prototype.
func (e *engine) relinked() {
	for _, w := range e.walked {
		e.checkChain(w.list, w.length)
	}
}

// heard returns a function of the language that hears an interrupt.
func (e *engine) heard(v goja.Value) goja.Value {
	native, ok := v.Export().(func(goja.FunctionCall) goja.Value)
	if !ok {
		return v
	}
	return e.rt.ToValue(func(call goja.FunctionCall) goja.Value {
		e.look()
		// The constructor of Map passes nil for what an entry does not have.
		for i, arg := range call.Arguments {
			if arg == nil {
				call.Arguments[i] = goja.Undefined()
			}
		}
		return native(call)
	})
}

// step counts a value that is converted, and looks now and then.
func (e *engine) step() {
	if e.converted++; e.converted%lookInterval == 0 {
		e.look()
	}
}

// lookInterval is after how many steps an iterator or a conversion looks whether its call was interrupted.
const lookInterval = 256

// setIteratorLimits lets the iterators of the language hear an interrupt. A spread, a destructuring and a constructor go through a
// whole list in one instruction.
func (e *engine) setIteratorLimits() error {
	v, err := e.rt.RunString("[[][Symbol.iterator](), new Map().entries(), new Set().values(), ''[Symbol.iterator](), 'a'.matchAll(/a/g)].map(Object.getPrototypeOf)")
	if err != nil {
		return err
	}
	var protos []*goja.Object
	if err := e.rt.ExportTo(v, &protos); err != nil {
		return err
	}
	steps := 0
	for _, proto := range protos {
		next, ok := proto.Get("next").Export().(func(goja.FunctionCall) goja.Value)
		if !ok {
			return failure("an iterator has no method next")
		}
		err := proto.DefineDataProperty("next", e.rt.ToValue(func(call goja.FunctionCall) goja.Value {
			if steps++; steps%large == 0 {
				e.room(large * elementSize)
			}
			e.look()
			return next(call)
		}), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
		if err != nil {
			return err
		}
	}
	return nil
}

// maxGenerators bounds how deep generators run in each other: the engine takes seconds to end a
// thousand of them.
const maxGenerators = 150

// setGeneratorLimits bounds generators that call generators, as with yield*.
func (e *engine) setGeneratorLimits() error {
	v, err := e.rt.RunString("Object.getPrototypeOf(function* () {}).prototype")
	if err != nil {
		return err
	}
	proto, depth := v.ToObject(e.rt), 0
	for _, name := range []string{"next", "return", "throw"} {
		method, ok := proto.Get(name).Export().(func(goja.FunctionCall) goja.Value)
		if !ok {
			return failure("a generator has no method %s", name)
		}
		err := proto.DefineDataProperty(name, e.rt.ToValue(func(call goja.FunctionCall) goja.Value {
			if depth++; depth > maxGenerators {
				depth--
				panic(e.refusal(failure("RangeError: generators run in each other deeper than %d levels", maxGenerators)))
			}
			defer func() { depth-- }()
			return method(call)
		}), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
		if err != nil {
			return err
		}
	}
	return nil
}

// setLimits bounds the engine's own functions.
func (e *engine) setLimits() error {
	e.rangeError = e.rt.GlobalObject().Get("RangeError")
	if err := e.setIteratorLimits(); err != nil {
		return err
	}
	if err := errors.Join(e.setArrayLimits(), e.setGeneratorLimits(), e.setEval()); err != nil {
		return err
	}
	natives, err := e.natives(map[string]any{
		"maxLength":      maxListLength,
		"countKeys":      countKeys,
		"isWide":         func(call goja.FunctionCall) goja.Value { return e.rt.ToValue(isWide(call.Argument(0))) },
		"checkSize":      e.checked(e.checkText),
		"checkText":      e.checked(func(v goja.Value) error { return checkTextNesting(v.String()) }),
		"checkSource":    e.checked(func(v goja.Value) error { return checkSource(v.String()) }),
		"compile":        e.compileText,
		"run":            e.runText,
		"variables":      e.variables,
		"compileDirect":  e.compileDirect,
		"runDirect":      e.runDirect,
		"defineHidden":   func(name string, v goja.Value) error { return e.defineHidden(unistring.NewFromString(name), v) },
		"room":           e.room,
		"checkWide":      e.checkWide,
		"trim":           e.trim,
		"join":           e.join,
		"compareNumbers": e.compareNumbers,
		"heard":          e.heard,
		"checkChain":     e.checkChain,
		"relinked":       e.relinked,
		"setCheckPlain":  func(f goja.Callable) { e.checkPlain = f },
		"checkChars":     e.checkChars,
		"large":          large,
		"elementSize":    elementSize,
	})
	if err != nil {
		return err
	}
	tools, err := e.callProgram(limits, e.rt.GlobalObject(), natives)
	if err != nil {
		return err
	}
	return e.setRegexps(tools)
}

// compileText compiles the text of eval or Function. It returns the message of a syntax error.
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

// runText runs a program of compileText and passes its exception on.
func (e *engine) runText(s *script) goja.Value {
	v, err := e.runScript(s)
	if err != nil {
		panic(err)
	}
	return v
}

// refusal returns the error that a script gets for a limit: a RangeError if its text says so.
func (e *engine) refusal(err error) goja.Value {
	var refused *mongoerr.Error
	if !errors.As(err, &refused) {
		return e.rt.NewGoError(err)
	}
	text, ok := strings.CutPrefix(refused.Message, "RangeError: ")
	if !ok {
		return e.rt.NewGoError(err)
	}
	v, err := e.rt.New(e.rangeError, e.rt.ToValue(text))
	if err != nil {
		panic(err)
	}
	return v
}

// checked makes a function of a check: its error is thrown.
func (e *engine) checked(check func(goja.Value) error) func(goja.FunctionCall) goja.Value {
	return func(call goja.FunctionCall) goja.Value {
		if err := check(call.Argument(0)); err != nil {
			panic(e.refusal(err))
		}
		return goja.Undefined()
	}
}

// checkSource refuses code that would make the parser or the compiler recurse too deeply. It counts what may nest (brackets,
// operators, words) since the last end of a statement or element on each level, wherever it stands: a string that is full
// of brackets counts as well.
func checkSource(source string) error {
	if len(source) > maxSource {
		return failure("SyntaxError: a function is longer than %d bytes", maxSource)
	}
	var open []int // the chain before each bracket that is open
	depth, chain, word := 0, 0, false
	for i := range len(source) {
		inWord := false
		switch c := source[i]; c {
		case '(', '[', '{':
			depth += chain + 1
			open = append(open, chain)
			chain = 0
		case ')', ']', '}':
			if n := len(open); n > 0 {
				chain = open[n-1] + 1
				depth -= open[n-1] + 1
				open = open[:n-1]
			}
		case ';', ',':
			chain = 0
		case ' ', '\t', '\r', '\n':
		case '!', '~', '-', '+', '*', '/', '%', '=', '?', ':', '>', '<', '&', '|', '^', '.', '`':
			chain++
		default:
			if inWord = true; !word {
				chain++
			}
		}
		word = inWord
		if depth+chain > maxNesting {
			return failure("SyntaxError: too much nesting")
		}
	}
	return checkLiterals(source)
}

var bigLiteral = regexp.MustCompile(`[0-9a-fA-F]n\b`)

// checkLiterals refuses big integers, whose operators compute without bound.
func checkLiterals(source string) error {
	if !bigLiteral.MatchString(source) {
		return nil
	}
	// It is a program, an expression or the body of a function. The compiler tells what else is wrong with it.
	for _, form := range []string{source, "(" + source + "\n)", "(function() {" + source + "\n})"} {
		program, err := parser.ParseFile(nil, "", form, 0)
		if err == nil && hasBigInt(reflect.ValueOf(program.Body)) {
			return failure("SyntaxError: big integers are not supported")
		}
	}
	return nil
}

// hasBigInt looks for a literal in a syntax tree, whose nesting is bounded.
func hasBigInt(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return false
		}
		if n, ok := v.Interface().(*ast.NumberLiteral); ok {
			_, big := n.Value.(*big.Int)
			return big
		}
		return hasBigInt(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			if hasBigInt(v.Index(i)) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanInterface() && v.Type().Field(i).Name != "File" && hasBigInt(f) {
				return true
			}
		}
	default:
	}
	return false
}

// countKeys returns how many own properties a value has that can be listed.
func countKeys(v goja.Value) int {
	switch v := v.(type) {
	case goja.String:
		return v.Length()
	case *goja.Object:
		if v.ClassName() == "Array" {
			return int(field(v, "length").ToInteger())
		}
		return len(v.Keys())
	default:
		return 0
	}
}

// checkTextNesting refuses JSON that nests too deeply, or has too many values.
func checkTextNesting(text string) error {
	depth, values, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '[' || c == '{':
			depth++
			values++
		case c == ']' || c == '}':
			depth--
		case c == ',' || c == ':':
			values++
		}
		if depth > maxTextNesting {
			return failure("JSON nests deeper than %d levels", maxTextNesting)
		}
		if values > maxTextValues {
			return failure("RangeError: JSON has more than %d values: parse it in parts", maxTextValues)
		}
	}
	return nil
}

// isWide reports whether a text has characters beyond ASCII, which most functions treat much
// slower.
func isWide(v goja.Value) bool {
	s, ok := v.(goja.String)
	if !ok {
		return false
	}
	switch reflect.TypeOf(s).Kind() {
	case reflect.String:
		return false
	case reflect.Slice:
		return true
	default: // not yet known
		return reflect.TypeOf(s.Substring(0, s.Length())).Kind() != reflect.String
	}
}

// checkWide refuses a text of a script that is too long for one with characters beyond ASCII. It
// returns any other value.
func (e *engine) checkWide(v goja.Value) goja.Value {
	if s, ok := v.(goja.String); ok && s.Length() > maxWideMade && isWide(v) {
		panic(e.refusal(failure("RangeError: a text with characters beyond ASCII is longer than %d characters", maxWideMade)))
	}
	return v
}

// trim cuts white space off a text, at its begin, its end, or both. The language's own function
// copies the whole text twice.
func (e *engine) trim(v goja.Value, begin, end bool) goja.Value {
	s, ok := v.ToString().(goja.String)
	if !ok {
		return v
	}
	steps := 0
	space := func(i int) bool {
		if steps++; steps%(lookInterval*lookInterval) == 0 {
			e.look()
		}
		return strings.ContainsRune(parser.WhitespaceChars, rune(s.CharAt(i)))
	}
	from, to := 0, s.Length()
	for begin && from < to && space(from) {
		from++
	}
	for end && from < to && space(to-1) {
		to--
	}
	if from == 0 && to == s.Length() {
		return s
	}
	return s.Substring(from, to)
}

// join makes a text of the elements of a list. An element that becomes text may run code that changes the others: what is made is
// counted.
func (e *engine) join(list *goja.Object, by goja.Value, n int64) goja.Value {
	if e.joins++; e.joins > maxTextNesting {
		panic(e.refusal(failure("RangeError: the value nests deeper than %d levels, or has a cycle", maxTextNesting)))
	}
	defer func() { e.joins-- }()
	separator := e.text(by)
	var out goja.StringBuilder
	size, wide, looked := 0, false, 0
	write := func(s goja.String) {
		size += s.Length()
		wide = wide || isWide(s)
		if size > maxChars || wide && size > maxWideMade {
			panic(e.refusal(failure("RangeError: Invalid string length")))
		}
		if size-looked > large {
			looked = size
			e.room(int64(size))
			e.look()
		}
		out.WriteString(s)
	}
	for i := range n {
		e.step()
		if i > 0 {
			write(separator)
		}
		if v := list.Get(strconv.FormatInt(i, 10)); v != nil && !goja.IsUndefined(v) && !goja.IsNull(v) {
			write(e.text(v))
		}
	}
	return out.String()
}
