package array

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// iterate is the common part of $map, $filter and $reduce: an input array and a body that is
// evaluated for each element.
type iterate struct {
	input, body expr.Expr
	slot        int
	running     *interrupt.Running
}

func (m *iterate) Children() []expr.Expr { return []expr.Expr{m.input, m.body} }

// array evaluates the input. done is true if the result of the operator is null. name and code are
// for the error about an input that is not an array.
func (m *iterate) array(ctx *expr.Context, name string, code mongoerr.Code) (array bsonx.Doc, done bool, err error) {
	v, err := m.input.Eval(ctx)
	if err != nil {
		return nil, false, err
	}
	if expr.Nullish(v) {
		return nil, true, nil
	}
	if v.Type != bsonx.TypeArray {
		if name == "$reduce" {
			return nil, false, mongoerr.New(code, "$reduce requires that 'input' be an array, found: %s", expr.Show(v))
		}
		return nil, false, mongoerr.New(code, "input to %s must be an array not %s", name, v.Type)
	}
	return v.Doc(), false, nil
}

// iteration compiles the input, the body and an optional limit. The variable named as is bound to
// the element in the body and limit.
func iteration(p *expr.Parser, input, body, limit, as bsonx.Value, vars *expr.Vars) (iterate, expr.Expr, error) {
	name := "this"
	if !as.IsMissing() {
		name = "" // MongoDB treats a value that is not a string as an empty name
		if as.Type == bsonx.TypeString {
			name = as.Str()
		}
		if err := expr.CheckVariableName(name); err != nil {
			return iterate{}, nil, err
		}
	}
	inner, slot := vars.WithSlot(name)
	args, err := p.ArgsIn(expr.FromLast(3), []bsonx.Value{input, body, limit}, vars, inner, vars)
	if err != nil {
		return iterate{}, nil, err
	}
	return iterate{args[0], args[1], slot, vars.Scripts().Running}, args[2], nil
}

// iterationForm returns the form function of $map or $filter for explain. body is the name of the
// argument that is evaluated for each element.
func iterationForm(body string) expr.FormFunc {
	return func(s expr.SerialScope, def *expr.Definition, arg bsonx.Value) expr.Serial {
		args, name := arg.Doc(), "this"
		if v := args.Lookup("as"); v.Type == bsonx.TypeString {
			name = v.Str()
		}
		b := bsonx.NewBuilder(nil)
		b.StartDoc()
		input := s.Operand(args.Lookup("input"))
		b.Value("input", input.Value())
		b.String("as", name)
		result := s.Bind(name, expr.Serial{}).Operand(args.Lookup(body))
		b.Value(body, result.Value())
		constants := input.Constant && result.Constant
		if v := args.Lookup("limit"); !v.IsMissing() {
			limit := s.Operand(v)
			constants = constants && limit.Constant
			b.Value("limit", limit.Value())
		}
		b.End()
		return s.Folded(def.Name, bsonx.Document(b.Bytes()), constants)
	}
}
