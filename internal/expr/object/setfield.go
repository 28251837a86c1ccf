package object

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func setFieldDefinition() expr.Definition {
	return expr.Definition{
		Name: "$setField", Family: family, Parse: parseSetField,
		Arguments: []string{"field", "input", "value"},
		Total:     feature.No, Folds: feature.No, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func unsetFieldDefinition() expr.Definition {
	return expr.Definition{
		Name: "$unsetField", Family: family, Parse: parseUnsetField,
		Form:  unsetFieldForm,
		Total: feature.No, Folds: feature.No, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

// setField is $setField or $unsetField. It returns the input with one field replaced, added or
// removed.
type setField struct {
	name         string
	op           string
	badInput     mongoerr.Code
	input, value expr.Expr
	running      *interrupt.Running
}

func (s *setField) Eval(ctx *expr.Context) (bsonx.Value, error) {
	input, err := s.input.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	if expr.Nullish(input) {
		return bsonx.Null, nil
	}
	if input.Type != bsonx.TypeDocument {
		return bsonx.Missing, mongoerr.New(s.badInput, "$setField requires 'input' to evaluate to type Object")
	}
	value, err := s.value.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	if err := ctx.Read(len(input.Data)+len(value.Data), s.running); err != nil {
		return bsonx.Missing, err
	}
	if err := expr.CheckBytes(s.op, len(input.Data)+len(value.Data)); err != nil {
		return bsonx.Missing, err
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	found := false
	var meter interrupt.Meter
	for it := input.Doc().Iter(); it.Next(); {
		if err := meter.Did(interrupt.Step+len(it.Value().Data), s.running); err != nil {
			return bsonx.Missing, err
		}
		if string(it.Key()) == s.name {
			found = true
			b.Value(s.name, value)
			continue
		}
		b.ValueBytes(it.Key(), it.Value())
	}
	if !found {
		b.Value(s.name, value)
	}
	b.End()
	return bsonx.Document(b.Bytes()), nil
}

func (s *setField) Children() []expr.Expr { return []expr.Expr{s.input, s.value} }

func parseSetField(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	return compileSetField(p, def, arg, vars, []string{"field", "input", "value"})
}

func parseUnsetField(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	return compileSetField(p, def, arg, vars, []string{"field", "input"})
}

func compileSetField(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars,
	names []string,
) (expr.Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(4161100, "%s only supports an object as its argument", def.Name)
	}
	raw, order, unknownErr := expr.OrderedArgs(arg,
		expr.UnknownArgument{Code: 4161101, Text: expr.FoundUnknown}, def.Name, names)
	args, err := p.ArgsIn(order, raw, vars.Unoptimized())
	if err == nil {
		err = unknownErr
	}
	if err != nil {
		return nil, err
	}
	codes := []mongoerr.Code{4161102, 4161109, 4161103}
	for _, i := range []int{0, 2, 1} { // the order in which MongoDB checks for missing arguments
		if i < len(raw) && raw[i].IsMissing() {
			return nil, mongoerr.New(codes[i], "%s requires '%s' to be specified", def.Name, names[i])
		}
	}
	name, err := constantName(def.Name, raw[0])
	if err != nil {
		return nil, err
	}
	set := &setField{
		name: name, op: def.Name, badInput: 4161105, input: args[1],
		value: &expr.Const{Value: bsonx.Missing}, running: vars.Scripts().Running,
	}
	if len(args) == 3 {
		set.value = args[2]
	}
	return set, nil
}

// unsetFieldForm returns the form for explain: $setField with the value $$REMOVE.
func unsetFieldForm(s expr.SerialScope, def *expr.Definition, arg bsonx.Value) expr.Serial {
	args := arg.Doc()
	input := s.Operand(args.Lookup("input"))
	field := s.Operand(args.Lookup("field"))
	if input.Constant {
		return s.Folded(def.Name, bsonx.Document(bsonx.NewDoc("field", field.Value(), "input", input.Value())), true)
	}
	return expr.Use("$setField",
		bsonx.Document(bsonx.NewDoc("field", field.Value(), "input", input.Value(), "value", "$$REMOVE")))
}
