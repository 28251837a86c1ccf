package expr

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

func (s SerialScope) operator(op string, arg bsonx.Value) Serial {
	def := s.Vars.Operators().find(op)
	switch {
	case def == nil:
		return s.positional(&Definition{Name: op}, arg)
	case def.Form != nil:
		return def.Form(s, def, arg)
	case def.Arguments != nil && IsNamed(arg):
		return s.Named(op, arg.Doc(), def.Arguments)
	default:
		return s.positional(def, arg)
	}
}

// IsNamed reports whether the argument of an operator is a document of named arguments.
func IsNamed(arg bsonx.Value) bool {
	return arg.Type == bsonx.TypeDocument && !strings.HasPrefix(string(arg.Doc().First().Key), "$")
}

// Sole returns the only element of an array, or arg itself.
func Sole(arg bsonx.Value) bsonx.Value {
	if arg.Type == bsonx.TypeArray && arg.Doc().Len() == 1 {
		return arg.Doc().First().Value
	}
	return arg
}

// writtenForm returns the use as the client wrote it.
func writtenForm(_ SerialScope, def *Definition, arg bsonx.Value) Serial { return Use(def.Name, arg) }

// Named serialises an operator with named arguments, in the order of names.
func (s SerialScope) Named(op string, args bsonx.Doc, names []string) Serial {
	form, constants := s.Arguments(args, names)
	return s.Folded(op, bsonx.Document(form), constants)
}

// Arguments serialises named arguments in the order of names, and reports whether all are constant.
// A name that begins with = marks an argument that is shown as the client wrote it.
func (s SerialScope) Arguments(args bsonx.Doc, names []string) (form bsonx.Doc, constants bool) {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	constants = true
	for _, name := range names {
		name, raw := strings.CutPrefix(name, "=")
		v := args.Lookup(name)
		switch {
		case v.IsMissing():
		case raw:
			b.Value(name, v)
		default:
			e := s.Operand(v)
			constants = constants && e.Constant
			b.Value(name, e.Value())
		}
	}
	b.End()
	return b.Bytes(), constants
}

// Arguments serialises named arguments in the order of names. A name that begins with = marks an
// argument that is shown as the client wrote it.
func (s Serializer) Arguments(args bsonx.Doc, names ...string) bsonx.Doc {
	form, _ := SerialScope{Serializer: s}.Arguments(args, names)
	return form
}

// positional serialises an operator whose operands are in an array.
func (s SerialScope) positional(def *Definition, arg bsonx.Value) Serial {
	args := s.Operands(operandsOf(arg))
	if !AllConstant(args) {
		args = s.joinConstants(def, args)
	}
	return s.Folded(def.Name, Forms(args), AllConstant(args))
}

// operandsOf returns the operands of an operator. arg is an array of operands or a single operand.
func operandsOf(arg bsonx.Value) []bsonx.Value {
	if arg.Type == bsonx.TypeArray {
		return arg.Doc().Values()
	}
	return []bsonx.Value{arg}
}

// joinConstants combines constant operands of an associative operator, if not all operands are
// constant.
func (s SerialScope) joinConstants(def *Definition, args []Serial) []Serial {
	switch def.Association {
	case AssocLeft:
		n := 0
		for args[n].Constant {
			n++
		}
		return append(s.joined(def.Name, args[:n]), args[n:]...)
	case AssocFull:
		var out []Serial
		for i := 0; i < len(args); {
			n := i
			for n < len(args) && args[n].Constant {
				n++
			}
			out = append(out, s.joined(def.Name, args[i:n])...)
			if n < len(args) {
				out = append(out, args[n])
			}
			i = n + 1
		}
		return out
	case Commutable:
		var constants, others []Serial
		for _, a := range args {
			if a.Constant {
				constants = append(constants, a)
			} else {
				others = append(others, a)
			}
		}
		return append(others, s.joined(def.Name, constants)...)
	default:
		return args
	}
}

// joined returns the constants combined into one, or unchanged if they cannot be computed.
func (s SerialScope) joined(op string, constants []Serial) []Serial {
	if len(constants) < 2 {
		return append([]Serial(nil), constants...)
	}
	if v := s.Folded(op, Forms(constants), true); v.Constant {
		return []Serial{v}
	}
	return append([]Serial(nil), constants...)
}
