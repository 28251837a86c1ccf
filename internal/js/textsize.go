package js

import "github.com/dop251/goja"

// checkText refuses a value whose text would be too long.
func (e *engine) checkText(v goja.Value) error {
	w := textWalk{e: e}
	if err := w.value(v, 0); err != nil {
		return err
	}
	if w.size > large {
		e.room(int64(w.size))
	}
	return nil
}

// textWalk adds up the text that a value becomes.
type textWalk struct {
	e            *engine
	size, values int
}

// value refuses a value that would become too long a text, or that nests too deeply. Shared parts
// count as often as they occur; a cycle nests without end. It hears an interrupt.
func (w *textWalk) value(v goja.Value, depth int) error {
	if w.values++; w.values%lookInterval == 0 {
		w.e.look()
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
