package expr

import (
	"strings"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Serializer writes expressions as MongoDB's explain shows them: operands in arrays or under their names, constants
// folded and wrapped in $const, paths in their short form. It works on expressions as they were written, which have been
// parsed without an error before.
type Serializer struct {
	// Vars is the scope that the expression was parsed in.
	Vars *Vars
	// Now is the value of $$NOW.
	Now time.Time
	// Stopped counts work and reports whether the operation has ended. The caller discards the form
	// then. nil means that the operation cannot end.
	Stopped func(work int) bool
}

// expressionWork is the work of serialising an expression apart from those within it.
const expressionWork = 8 * interrupt.Step

// Expression returns the serialised form of an expression.
func (s Serializer) Expression(v bsonx.Value) bsonx.Value {
	return serialScope{Serializer: s}.expression(v).value()
}

// serial is a serialised expression: the form of explain, or the value of a constant.
type serial struct {
	form     bsonx.Value
	constant bool
}

func constant(v bsonx.Value) serial { return serial{v, true} }

func shown(v bsonx.Value) serial { return serial{v, false} }

// value returns the form, with a constant wrapped.
func (s serial) value() bsonx.Value {
	switch {
	case !s.constant:
		return s.form
	case s.form.IsMissing():
		return bsonx.String("$$REMOVE")
	default:
		return operation("$const", s.form)
	}
}

func operation(name string, arg bsonx.Value) bsonx.Value {
	return bsonx.Document(bsonx.NewDoc(name, arg))
}

// serialScope is a Serializer inside operators that bind variables.
type serialScope struct {
	Serializer
	bound *boundName
}

// boundName is a variable that an operator binds; value is its value where that is a constant.
type boundName struct {
	outer *boundName
	name  string
	value serial
}

func (s serialScope) bind(name string, value serial) serialScope {
	s.bound = &boundName{s.bound, name, value}
	return s
}

func (s serialScope) expression(v bsonx.Value) serial {
	if s.Stopped != nil && s.Stopped(expressionWork) {
		return constant(v)
	}
	switch v.Type {
	case bsonx.TypeString:
		if text := v.Str(); strings.HasPrefix(text, "$") {
			return s.path(text)
		}
	case bsonx.TypeArray:
		return listed(s.all(v.Doc().Values()))
	case bsonx.TypeDocument:
		if first := v.Doc().First(); strings.HasPrefix(string(first.Key), "$") {
			return s.operator(string(first.Key), first.Value)
		}
		return s.object(v.Doc())
	default:
	}
	return constant(v)
}

func (s serialScope) all(list []bsonx.Value) []serial {
	out := make([]serial, len(list))
	for i, v := range list {
		out[i] = s.expression(v)
	}
	return out
}

func allConstant(list []serial) bool {
	for _, v := range list {
		if !v.constant {
			return false
		}
	}
	return true
}

func forms(list []serial) bsonx.Value {
	out := make([]bsonx.Value, len(list))
	for i, v := range list {
		out[i] = v.value()
	}
	return bsonx.ValueOf(out)
}

// listed is an array of expressions.
func listed(list []serial) serial {
	if !allConstant(list) {
		return shown(forms(list))
	}
	out := make([]bsonx.Value, len(list))
	for i, v := range list {
		out[i] = v.form
	}
	return constant(bsonx.ValueOf(out))
}

func (s serialScope) object(d bsonx.Doc) serial {
	var names []string
	var values []serial
	for it := d.Iter(); it.Next(); {
		names = append(names, string(it.Key()))
		values = append(values, s.expression(it.Value()))
	}
	constants := allConstant(values)
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for i, name := range names {
		if constants {
			b.Value(name, values[i].form)
		} else {
			b.Value(name, values[i].value())
		}
	}
	b.End()
	return serial{bsonx.Document(b.Bytes()), constants}
}

// path serialises a field path or variable.
func (s serialScope) path(text string) serial {
	if !strings.HasPrefix(text, "$$") {
		return shown(bsonx.String(text))
	}
	name, rest, dotted := strings.Cut(text[2:], ".")
	for b := s.bound; b != nil; b = b.outer {
		if b.name != name {
			continue
		}
		if b.value.constant {
			return constant(walkPath(b.value.form, strings.FieldsFunc(rest, func(r rune) bool { return r == '.' })))
		}
		return shown(bsonx.String(text))
	}
	switch e, err := Parse(bsonx.String(text), s.Vars); {
	case name == "REMOVE" || err != nil:
	case name == "NOW":
		if v, err := e.Eval(&Context{Now: s.Now}); err == nil {
			return constant(v)
		}
	default:
		if v, ok := ConstValue(e); ok {
			return constant(v)
		}
	}
	if name == "CURRENT" && dotted {
		return shown(bsonx.String("$" + rest))
	}
	return shown(bsonx.String(text))
}

// folded is an operator whose operands are known; it is computed where all of them are constants.
func (s serialScope) folded(name string, arg bsonx.Value, constants bool) serial {
	op := operation(name, arg)
	if !constants {
		return shown(op)
	}
	e, err := Parse(op, s.Vars.Operators().Scope())
	if err != nil {
		return shown(op)
	}
	if v, ok := ConstValue(e); ok {
		return constant(v)
	}
	return shown(op)
}
