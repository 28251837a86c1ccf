package expr

import "github.com/sheafdb/sheaf/internal/bsonx"

// And is true if all operands are; it stops at the first that is not.
type And struct{ Args []Expr }

// Eval evaluates the operands in order.
func (a *And) Eval(ctx *Context) (bsonx.Value, error) {
	for _, e := range a.Args {
		v, err := e.Eval(ctx)
		if err != nil {
			return bsonx.Missing, err
		}
		if !v.Truthy() {
			return bsonx.False, nil
		}
	}
	return bsonx.True, nil
}

func (a *And) children() []Expr { return a.Args }

// Or is true if one operand is; it stops there.
type Or struct{ Args []Expr }

// Eval evaluates the operands in order.
func (o *Or) Eval(ctx *Context) (bsonx.Value, error) {
	for _, e := range o.Args {
		v, err := e.Eval(ctx)
		if err != nil {
			return bsonx.Missing, err
		}
		if v.Truthy() {
			return bsonx.True, nil
		}
	}
	return bsonx.False, nil
}

func (o *Or) children() []Expr { return o.Args }

func booleanOperators() []definition {
	return []definition{
		{name: "$and", family: "boolean", max: -1, parse: func(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			args, err := p.arguments(def, arg, vars)
			return &And{args}, err
		}},
		{name: "$or", family: "boolean", max: -1, parse: func(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			args, err := p.arguments(def, arg, vars)
			return &Or{args}, err
		}},
		op1("$not", "boolean", func(v bsonx.Value) (bsonx.Value, error) { return bsonx.Bool(!v.Truthy()), nil }),
	}
}
