package expr

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// getField reads a field by its exact name, in which dots and dollars mean nothing.
type getField struct {
	field, input Expr
	running      *interrupt.Running
}

func (g *getField) Eval(ctx *Context) (bsonx.Value, error) {
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
	if Nullish(input) {
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

func (g *getField) Children() []Expr { return []Expr{g.field, g.input} }

func parseGetField(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	vars = vars.Unoptimized()
	if arg.Type != bsonx.TypeDocument || strings.HasPrefix(string(arg.Doc().First().Key), "$") {
		field, err := p.Operand(arg, vars)
		if err != nil {
			return nil, err
		}
		input, err := vars.reference("CURRENT", nil, "")
		return &getField{field, input, vars.Scripts().Running}, err
	}
	args, err := p.namedArgs(arg, vars, unknownArgument{3041701, foundUnknown}, def.Name, "field", "input")
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

// constantName reads the name of the field that $setField or $unsetField sets: a string, or one in $literal. It is read as it
// stands, since no other expression is constant before a pipeline is optimised.
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

// setField returns the input with one field replaced, added or removed.
type setField struct {
	name         string
	op           string
	badInput     mongoerr.Code
	input, value Expr
	running      *interrupt.Running
}

func (s *setField) Eval(ctx *Context) (bsonx.Value, error) {
	input, err := s.input.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	if Nullish(input) {
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
	if err := checkBytes(s.op, len(input.Data)+len(value.Data)); err != nil {
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

func (s *setField) Children() []Expr { return []Expr{s.input, s.value} }

func parseSetField(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	return p.setField(def, arg, vars, []string{"field", "input", "value"})
}

func parseUnsetField(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	return p.setField(def, arg, vars, []string{"field", "input"})
}

func (p *Parser) setField(def *Definition, arg bsonx.Value, vars *Vars, names []string) (Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(4161100, "%s only supports an object as its argument", def.Name)
	}
	raw, order, unknownErr := orderedArgs(arg, unknownArgument{4161101, foundUnknown}, def.Name, names)
	args, err := p.argsIn(order, raw, vars.Unoptimized())
	if err == nil {
		err = unknownErr
	}
	if err != nil {
		return nil, err
	}
	codes := []mongoerr.Code{4161102, 4161109, 4161103}
	for _, i := range []int{0, 2, 1} { // the order in which MongoDB misses them
		if i < len(raw) && raw[i].IsMissing() {
			return nil, mongoerr.New(codes[i], "%s requires '%s' to be specified", def.Name, names[i])
		}
	}
	name, err := constantName(def.Name, raw[0])
	if err != nil {
		return nil, err
	}
	set := &setField{name: name, op: def.Name, badInput: 4161105, input: args[1], value: &Const{bsonx.Missing}, running: vars.Scripts().Running}
	if len(args) == 3 {
		set.value = args[2]
	}
	return set, nil
}
