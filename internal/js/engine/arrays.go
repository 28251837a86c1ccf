package engine

import (
	"strconv"

	"github.com/dop251/goja"
)

// arrayMethods lists the methods of Array that visit a whole array. Their limits are checked in Go,
// because they are called often.
var arrayMethods = [...]string{
	"copyWithin", "entries", "every", "fill", "filter", "find", "findIndex", "findLast",
	"findLastIndex", "forEach", "includes",
	"indexOf", "keys", "lastIndexOf", "map", "reduce", "reduceRight", "reverse", "shift",
	"slice", "some", "sort", "splice",
	"toReversed", "toSorted", "toSpliced", "unshift", "values", "with",
}

// takesFunction lists the methods that call a function for each element. Calling a function notices
// an interrupt, so these methods need no lower limit for lists that are not arrays.
var takesFunction = map[string]bool{
	"every": true, "filter": true, "find": true, "findIndex": true, "findLast": true,
	"findLastIndex": true, "forEach": true,
	"map": true, "reduce": true, "reduceRight": true, "some": true,
}

// setArrays wraps the array methods so that they do not visit more than maxListLength elements. The
// limit is necessary because an object may claim any length.
func (l *limiter) setArrays() error {
	proto := l.rt.GlobalObject().Get("Array").ToObject(l.rt).Get("prototype").ToObject(l.rt)
	for _, name := range arrayMethods {
		v := proto.Get(name)
		if v == nil {
			continue
		}
		method, ok := v.Export().(func(goja.FunctionCall) goja.Value)
		if !ok {
			continue
		}
		err := proto.DefineDataProperty(name, l.rt.ToValue(func(call goja.FunctionCall) goja.Value {
			l.watch.look()
			length, most := 0.0, maxListLength
			if list, ok := call.This.(*goja.Object); ok {
				if list.ClassName() != "Array" && l.checkPlain != nil {
					if _, err := l.checkPlain(goja.Undefined(), list); err != nil {
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
				panic(l.refusal(failure("RangeError: Invalid array length")))
			}
			if length > large {
				l.watch.room(int64(length) * elementSize)
			}
			if list, ok := call.This.(*goja.Object); ok && length > 1 {
				l.checkChain(list, length)
				l.walked = append(l.walked, walked{list, length})
				defer func() { l.walked = l.walked[:len(l.walked)-1] }()
			}
			if name == "sort" || name == "toSorted" {
				call = l.sortCall(call, length)
			}
			return method(call)
		}), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
		if err != nil {
			return err
		}
	}
	return nil
}

// walked is a list that an array method is visiting, with its length.
type walked struct {
	list   *goja.Object
	length float64
}

// checkChain panics with a RangeError if the list has too many prototypes for n reads. A read that
// does not find an element searches every prototype.
func (l *limiter) checkChain(list *goja.Object, n float64) {
	looks := n
	for p := list.Prototype(); p != nil; p = p.Prototype() {
		if looks += n; looks > maxLooks {
			panic(l.refusal(failure("RangeError: a list or an object has too many prototypes for its length")))
		}
	}
}

// relinked checks the lists being visited again, because a script has changed the prototype of an
// object.
func (l *limiter) relinked() {
	for _, w := range l.walked {
		l.checkChain(w.list, w.length)
	}
}

// countKeys returns the number of own enumerable properties of a value.
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

// join returns the elements of a list joined to a text, like Array.prototype.join. It counts the
// length of the result while it grows, because converting an element may run a script that changes
// the other elements.
func (l *limiter) join(list *goja.Object, by goja.Value, n int64) goja.Value {
	if l.joins++; l.joins > maxTextNesting {
		panic(l.refusal(failure("RangeError: the value nests deeper than %d levels, or has a cycle", maxTextNesting)))
	}
	defer func() { l.joins-- }()
	separator := l.text(by)
	var out goja.StringBuilder
	size, wide, looked := 0, false, 0
	write := func(s goja.String) {
		size += s.Length()
		wide = wide || isWide(s)
		if size > maxChars || wide && size > maxWideMade {
			panic(l.refusal(failure("RangeError: Invalid string length")))
		}
		if size-looked > large {
			looked = size
			l.watch.room(int64(size))
			l.watch.look()
		}
		out.WriteString(s)
	}
	for i := range n {
		l.watch.step()
		if i > 0 {
			write(separator)
		}
		if v := list.Get(strconv.FormatInt(i, 10)); v != nil && !goja.IsUndefined(v) && !goja.IsNull(v) {
			write(l.text(v))
		}
	}
	return out.String()
}
