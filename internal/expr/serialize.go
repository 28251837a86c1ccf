package expr

import (
	"strings"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Serializer writes expressions in the form of MongoDB's explain. Operands are in arrays or under
// their names, constants are folded and wrapped in $const, and paths have their short form. Its
// input is the expression as the client wrote it, which was parsed without an error before.
type Serializer struct {
	// Vars is the scope in which the expression was parsed.
	Vars *Vars
	// Now is the value of $$NOW.
	Now time.Time
	// Stopped adds work to the work of the operation, and reports whether the operation was
	// interrupted. The caller must discard the result then. nil means that the operation cannot be
	// interrupted.
	Stopped func(work int) bool
}

// expressionWork is the work of serialising an expression without its sub-expressions, in the units
// of interrupt.Meter.
const expressionWork = 8 * interrupt.Step

// Expression returns the serialised form of the expression v.
func (s Serializer) Expression(v bsonx.Value) bsonx.Value {
	return SerialScope{Serializer: s}.Operand(v).Value()
}

// Serial is a serialised expression: its form in explain or, if Constant is true, the value of a
// constant.
type Serial struct {
	Form     bsonx.Value
	Constant bool
}

func constant(v bsonx.Value) Serial { return Serial{v, true} }

func shown(v bsonx.Value) Serial { return Serial{v, false} }

// Use returns the form {name: arg} of an operator.
func Use(name string, arg bsonx.Value) Serial { return shown(operation(name, arg)) }

// Value returns the form for explain. A constant is wrapped in $const.
func (s Serial) Value() bsonx.Value {
	switch {
	case !s.Constant:
		return s.Form
	case s.Form.IsMissing():
		return bsonx.String("$$REMOVE")
	default:
		return operation("$const", s.Form)
	}
}

func operation(name string, arg bsonx.Value) bsonx.Value {
	return bsonx.Document(bsonx.NewDoc(name, arg))
}

// SerialScope is a Serializer with the variables that enclosing operators bind.
type SerialScope struct {
	Serializer
	bound *boundName
}

// boundName is a variable that an operator binds. value is its value if it is constant.
type boundName struct {
	outer *boundName
	name  string
	value Serial
}

// Bind returns the scope with another variable. value is its value if it is constant.
func (s SerialScope) Bind(name string, value Serial) SerialScope {
	s.bound = &boundName{s.bound, name, value}
	return s
}

// Operand serialises a sub-expression.
func (s SerialScope) Operand(v bsonx.Value) Serial {
	if s.Stopped != nil && s.Stopped(expressionWork) {
		return constant(v)
	}
	switch v.Type {
	case bsonx.TypeString:
		if text := v.Str(); strings.HasPrefix(text, "$") {
			return s.path(text)
		}
	case bsonx.TypeArray:
		return listed(s.Operands(v.Doc().Values()))
	case bsonx.TypeDocument:
		if first := v.Doc().First(); strings.HasPrefix(string(first.Key), "$") {
			return s.operator(string(first.Key), first.Value)
		}
		return s.object(v.Doc())
	default:
	}
	return constant(v)
}

// Operands serialises several sub-expressions.
func (s SerialScope) Operands(list []bsonx.Value) []Serial {
	out := make([]Serial, len(list))
	for i, v := range list {
		out[i] = s.Operand(v)
	}
	return out
}

// AllConstant reports whether all expressions are constant.
func AllConstant(list []Serial) bool {
	for _, v := range list {
		if !v.Constant {
			return false
		}
	}
	return true
}

// Forms returns an array with the forms of several expressions.
func Forms(list []Serial) bsonx.Value {
	out := make([]bsonx.Value, len(list))
	for i, v := range list {
		out[i] = v.Value()
	}
	return bsonx.ValueOf(out)
}

// listed returns the serialised form of an array expression.
func listed(list []Serial) Serial {
	if !AllConstant(list) {
		return shown(Forms(list))
	}
	out := make([]bsonx.Value, len(list))
	for i, v := range list {
		out[i] = v.Form
	}
	return constant(bsonx.ValueOf(out))
}

func (s SerialScope) object(d bsonx.Doc) Serial {
	var names []string
	var values []Serial
	for it := d.Iter(); it.Next(); {
		names = append(names, string(it.Key()))
		values = append(values, s.Operand(it.Value()))
	}
	constants := AllConstant(values)
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for i, name := range names {
		if constants {
			b.Value(name, values[i].Form)
		} else {
			b.Value(name, values[i].Value())
		}
	}
	b.End()
	return Serial{bsonx.Document(b.Bytes()), constants}
}

// path serialises a field path or a variable.
func (s SerialScope) path(text string) Serial {
	if !strings.HasPrefix(text, "$$") {
		return shown(bsonx.String(text))
	}
	name, rest, dotted := strings.Cut(text[2:], ".")
	for b := s.bound; b != nil; b = b.outer {
		if b.name != name {
			continue
		}
		if b.value.Constant {
			return constant(walkPath(b.value.Form, strings.FieldsFunc(rest, func(r rune) bool { return r == '.' })))
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

// Folded returns the form {name: arg}, or its value as a constant if constants is true. The
// operands in arg are serialised.
func (s SerialScope) Folded(name string, arg bsonx.Value, constants bool) Serial {
	if !constants {
		return Use(name, arg)
	}
	e, err := Parse(operation(name, arg), s.Vars.Operators().Scope().WithCollation(s.Vars.Collation()))
	if err != nil {
		return Use(name, arg)
	}
	if v, ok := ConstValue(e); ok {
		return constant(v)
	}
	return Use(name, arg)
}
