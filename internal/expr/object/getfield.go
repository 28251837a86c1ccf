package object

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func getFieldDefinition() expr.Definition {
	return expr.Definition{
		Name: "$getField", Family: family, Parse: parseGetField,
		Form:  getFieldForm,
		Total: feature.No, Folds: feature.No, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

// getField is $getField. It reads a field by its exact name, in which dots and dollar signs have no
// special meaning.
type getField struct {
	field, input expr.Expr
	running      *interrupt.Running
}

func (g *getField) Eval(ctx *expr.Context) (bsonx.Value, error) {
	name, err := g.field.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	if name.Type != bsonx.TypeString {
		return bsonx.Missing, mongoerr.New(3041704, "$getField requires 'field' to evaluate to type String, but got %s", name.Type)
	}
	input, err := g.input.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	if expr.Nullish(input) {
		if input.IsMissing() {
			return bsonx.Missing, nil
		}
		return bsonx.Null, nil
	}
	if input.Type != bsonx.TypeDocument {
		return bsonx.Missing, nil
	}
	if err := ctx.Read(len(input.Data), g.running); err != nil {
		return bsonx.Missing, err
	}
	return input.Doc().Lookup(name.Str()), nil
}

func (g *getField) Children() []expr.Expr { return []expr.Expr{g.field, g.input} }

func parseGetField(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	vars = vars.Unoptimized()
	if arg.Type != bsonx.TypeDocument || strings.HasPrefix(string(arg.Doc().First().Key), "$") {
		field, err := p.Operand(arg, vars)
		if err != nil {
			return nil, err
		}
		input, err := vars.Reference("CURRENT", nil, "")
		return &getField{field, input, vars.Scripts().Running}, err
	}
	args, err := p.NamedArgs(arg, vars,
		expr.UnknownArgument{Code: 3041701, Text: expr.FoundUnknown}, def.Name, "field", "input")
	switch {
	case err != nil:
		return nil, err
	case args[0] == nil:
		return nil, mongoerr.New(3041702, "$getField requires 'field' to be specified")
	case args[1] == nil:
		return nil, mongoerr.New(3041703, "$getField requires 'input' to be specified")
	}
	return &getField{args[0], args[1], vars.Scripts().Running}, nil
}

// constantName returns the field name in the argument of $setField or $unsetField, which must be a
// string or a $literal. The argument is not evaluated, because other expressions are not constant
// before MongoDB optimises the pipeline.
func constantName(op string, v bsonx.Value) (string, error) {
	if v.Type == bsonx.TypeString && strings.HasPrefix(v.Str(), "$") {
		path := strings.TrimPrefix(v.Str(), "$")
		if !strings.HasPrefix(path, "$") {
			path = "$CURRENT." + path
		}
		return "", mongoerr.New(4161108, "'%s' is a field path reference which is not allowed in this context. Did you mean {$literal: '%s'}?", path, path)
	}
	switch {
	case v.Type == bsonx.TypeDocument && !v.Doc().IsEmpty():
		literal := v.Doc().First()
		if name := string(literal.Key); v.Doc().Len() != 1 || name != "$literal" && name != "$const" {
			return "", mongoerr.New(4161106, "%s requires 'field' to evaluate to a constant, but got a non-constant argument", op)
		}
		v = literal.Value
	case v.Type == bsonx.TypeArray:
		return "", mongoerr.New(4161106, "%s requires 'field' to evaluate to a constant, but got a non-constant argument", op)
	}
	if v.Type != bsonx.TypeString {
		return "", mongoerr.New(4161107, "%s requires 'field' to evaluate to type String, but got %s", op, v.Type)
	}
	return v.Str(), nil
}

// getFieldForm returns the form for explain. It shows the short form with the input $$CURRENT.
func getFieldForm(s expr.SerialScope, def *expr.Definition, arg bsonx.Value) expr.Serial {
	args := arg.Doc()
	if !expr.IsNamed(arg) {
		args = bsonx.NewDoc("field", arg, "input", "$$CURRENT")
	}
	return s.Named(def.Name, args, []string{"field", "input"})
}
