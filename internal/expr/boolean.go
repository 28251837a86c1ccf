package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
)

// And is $and: true if all operands are true. It stops at the first operand that is not.
type And struct{ Args []Expr }

// Eval evaluates the operands in order, up to the first that is false.
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

// Children returns the operands.
func (a *And) Children() []Expr { return a.Args }

// Total returns true: the node has a value for all values of its operands.
func (a *And) Total() bool { return true }

// or is $or: true if one operand is true. It stops at that operand.
type or struct{ Args []Expr }

// Eval evaluates the operands in order, up to the first that is true.
func (o *or) Eval(ctx *Context) (bsonx.Value, error) {
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

// Children returns the operands.
func (o *or) Children() []Expr { return o.Args }

// Total returns true: the node has a value for all values of its operands.
func (o *or) Total() bool { return true }

func andDefinition() Definition {
	return logical("$and", false, func(args []Expr) Expr { return &And{args} })
}

func orDefinition() Definition {
	return logical("$or", true, func(args []Expr) Expr { return &or{args} })
}

func notDefinition() Definition {
	return Definition{
		Name: "$not", Family: "boolean",
		Parse: Op1(func(v bsonx.Value) (bsonx.Value, error) { return bsonx.Bool(!v.Truthy()), nil }),
		Total: feature.Yes, Folds: feature.Yes, Depends: OnOperands, StableAPI: feature.Yes,
	}
}

// logical defines $and or $or. A constant operand equal to decides makes the result constant,
// whatever the other operands do, if MongoDB would optimise the expression. Other constant operands
// are removed.
func logical(name string, decides bool, node func(args []Expr) Expr) Definition {
	return Definition{
		Name: name, Family: "boolean", Max: -1, Form: logicalForm(decides),
		Total: feature.Yes, Folds: feature.Yes, Depends: OnOperands, StableAPI: feature.Yes,
		Parse: func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			args, err := p.arguments(def, arg, vars)
			if err != nil {
				return nil, err
			}
			var open []Expr
			for _, e := range args {
				c, ok := e.(*Const)
				switch {
				case !ok || c.Value.Truthy() == decides && vars.Failures() == nil:
					open = append(open, e)
				case c.Value.Truthy() == decides:
					return &Const{bsonx.Bool(decides)}, nil
				}
			}
			if len(open) == 0 {
				return &Const{bsonx.Bool(!decides)}, nil
			}
			return node(open), nil
		},
	}
}

// logicalForm returns the form function for explain, which omits constants that do not decide the
// result.
func logicalForm(decides bool) FormFunc {
	return func(s SerialScope, def *Definition, arg bsonx.Value) Serial {
		var open []Serial
		for _, v := range s.Operands(operandsOf(arg)) {
			switch {
			case !v.Constant:
				open = append(open, v)
			case v.Form.Truthy() == decides:
				return constant(bsonx.Bool(decides))
			}
		}
		if len(open) == 0 {
			return constant(bsonx.Bool(!decides))
		}
		return Use(def.Name, Forms(open))
	}
}
