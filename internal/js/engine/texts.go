package engine

import (
	"reflect"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
)

// checkTextNesting returns an error for a JSON text that nests too deeply or has too many values.
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

// isWide reports whether a text contains non-ASCII characters. Most functions are much slower for
// such texts.
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
	default: // the representation of the text is not determined yet
		return reflect.TypeOf(s.Substring(0, s.Length())).Kind() != reflect.String
	}
}

// checkWide panics with a RangeError if v is a text with non-ASCII characters that is longer than
// maxWideMade. Otherwise it returns v.
func (l *limiter) checkWide(v goja.Value) goja.Value {
	if s, ok := v.(goja.String); ok && s.Length() > maxWideMade && isWide(v) {
		panic(l.refusal(failure("RangeError: a text with characters beyond ASCII is longer than %d characters", maxWideMade)))
	}
	return v
}

// trim removes white space from the beginning of a text, the end, or both. It replaces the built-in
// function, which copies the whole text twice.
func (l *limiter) trim(v goja.Value, begin, end bool) goja.Value {
	s, ok := v.ToString().(goja.String)
	if !ok {
		return v
	}
	steps := 0
	space := func(i int) bool {
		if steps++; steps%(lookInterval*lookInterval) == 0 {
			l.watch.look()
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

// text converts a value to a text by the rules of JavaScript.
func (l *limiter) text(v goja.Value) goja.String {
	v = v.ToString()
	s, ok := v.(goja.String)
	if !ok { // ToString returns numbers and other primitives unchanged
		s, _ = l.rt.ToValue(v.String()).(goja.String)
	}
	return s
}

// checkText returns an error for a value whose conversion to text would be too long.
func (l *limiter) checkText(v goja.Value) error {
	w := textWalk{watch: l.watch}
	if err := w.value(v, 0); err != nil {
		return err
	}
	if w.size > large {
		l.watch.room(int64(w.size))
	}
	return nil
}

// textWalk is the state of computing the length of a value's text.
type textWalk struct {
	watch        *watch
	size, values int
}

// value adds the text length of v. It returns an error if the text would be too long, or v nests
// too deeply. A shared object counts each time it occurs, and a cycle nests too deeply. The walk
// checks for interrupts.
func (w *textWalk) value(v goja.Value, depth int) error {
	if w.values++; w.values%lookInterval == 0 {
		w.watch.look()
	}
	w.size += valueSize
	if object, ok := v.(*goja.Object); ok {
		if err := w.object(object, depth); err != nil {
			return err
		}
	} else if s, ok := v.(goja.String); ok {
		w.size += s.Length()
	}
	if w.size > maxTextBytes {
		return failure("RangeError: Invalid string length")
	}
	return nil
}

func (w *textWalk) object(object *goja.Object, depth int) error {
	if depth > maxTextNesting {
		return failure("RangeError: the value nests deeper than %d levels, or has a cycle", maxTextNesting)
	}
	switch object.ClassName() {
	case "Array":
		n := field(object, "length").ToInteger()
		if n > maxTextBytes {
			return failure("RangeError: Invalid array length")
		}
	case "Date", "Function", "RegExp":
		return nil
	}
	for _, name := range object.Keys() {
		w.size += len(name) + 4
		if err := w.value(object.Get(name), depth+1); err != nil {
			return err
		}
	}
	return nil
}
