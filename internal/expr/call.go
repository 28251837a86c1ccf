package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The nodes here evaluate all operands and pass them to a function. Most operators need nothing more.

type call1 struct {
	arg Expr
	fn  func(bsonx.Value) (bsonx.Value, error)
}

func (c *call1) Eval(ctx *Context) (bsonx.Value, error) {
	v, err := c.arg.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	return c.fn(v)
}

func (c *call1) children() []Expr { return []Expr{c.arg} }

type call2 struct {
	a, b Expr
	fn   func(a, b bsonx.Value) (bsonx.Value, error)
}

func (c *call2) Eval(ctx *Context) (bsonx.Value, error) {
	a, err := c.a.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	b, err := c.b.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	return c.fn(a, b)
}

func (c *call2) children() []Expr { return []Expr{c.a, c.b} }

type callN struct {
	args []Expr
	fn   func(args []bsonx.Value) (bsonx.Value, error)
}

func (c *callN) Eval(ctx *Context) (bsonx.Value, error) {
	base := len(ctx.stack)
	defer func() { ctx.stack = ctx.stack[:base] }()
	for _, arg := range c.args {
		v, err := evalOptional(ctx, arg)
		if err != nil {
			return bsonx.Missing, err
		}
		ctx.stack = append(ctx.stack, v)
	}
	return c.fn(ctx.stack[base:])
}

func (c *callN) children() []Expr { return present(c.args) }

// evalOptional evaluates an optional argument: nil is missing.
func evalOptional(ctx *Context, e Expr) (bsonx.Value, error) {
	if e == nil {
		return bsonx.Missing, nil
	}
	return e.Eval(ctx)
}

// present returns the expressions that are not nil.
func present(list []Expr) []Expr {
	for i, e := range list {
		if e != nil {
			continue
		}
		out := append([]Expr(nil), list[:i]...)
		for _, e := range list[i:] {
			if e != nil {
				out = append(out, e)
			}
		}
		return out
	}
	return list
}

// op1 defines an operator of exactly one operand.
func op1(name, family string, fn func(bsonx.Value) (bsonx.Value, error)) definition {
	return definition{
		name: name, family: family, min: 1, max: 1,
		parse: func(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			args, err := p.arguments(def, arg, vars)
			if err != nil {
				return nil, err
			}
			return &call1{args[0], fn}, nil
		},
	}
}

// op2 defines an operator of exactly two operands.
func op2(name, family string, fn func(a, b bsonx.Value) (bsonx.Value, error)) definition {
	return definition{
		name: name, family: family, min: 2, max: 2,
		parse: func(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			args, err := p.arguments(def, arg, vars)
			if err != nil {
				return nil, err
			}
			return &call2{args[0], args[1], fn}, nil
		},
	}
}

// opN defines an operator of min to max operands; max -1 is no limit.
func opN(name, family string, minArgs, maxArgs int, fn func(args []bsonx.Value) (bsonx.Value, error)) definition {
	return definition{
		name: name, family: family, min: minArgs, max: maxArgs,
		parse: func(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			args, err := p.arguments(def, arg, vars)
			if err != nil {
				return nil, err
			}
			return &callN{args, fn}, nil
		},
	}
}

// opNamed defines an operator with a document of named arguments. The function gets them in the order of names,
// missing where absent. The codes are for an argument that is no document, an unknown name, and a required name
// that is absent.
func opNamed(name, family string, codes namedCodes, required int, names []string,
	fn func(args []bsonx.Value) (bsonx.Value, error),
) definition {
	return definition{
		name: name, family: family, min: 1, max: 1,
		parse: func(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			args, err := p.parseNamed(def, arg, vars, codes, required, names)
			if err != nil {
				return nil, err
			}
			return &callN{args, fn}, nil
		},
	}
}

// namedCodes are the error codes of an operator with named arguments. Where absent names differ in code, missing
// has one code per required name, else one for all.
type namedCodes struct {
	notObject mongoerr.Code
	unknown   mongoerr.Code
	missing   []mongoerr.Code
}

func (p *parser) parseNamed(def *definition, arg bsonx.Value, vars *Vars, codes namedCodes, required int, names []string) ([]Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(codes.notObject, "%s only supports an object as its argument", def.name)
	}
	args, err := p.namedArgs(arg, vars, codes.unknown, def.name, names...)
	if err != nil {
		return nil, err
	}
	for i := range required {
		if args[i] == nil {
			code := codes.missing[min(i, len(codes.missing)-1)]
			return nil, mongoerr.New(code, "Missing '%s' parameter to %s", names[i], def.name)
		}
	}
	return args, nil
}

// opNamedOptional is opNamed for an operator that tells an argument that is absent from one that is missing or null.
func opNamedOptional(name, family string, codes namedCodes, required int, names []string,
	fn func(args []bsonx.Value, given []bool) (bsonx.Value, error),
) definition {
	return definition{
		name: name, family: family, min: 1, max: 1,
		parse: func(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			args, err := p.parseNamed(def, arg, vars, codes, required, names)
			if err != nil {
				return nil, err
			}
			given := make([]bool, len(args))
			for i, e := range args {
				given[i] = e != nil
			}
			return &callN{args, func(values []bsonx.Value) (bsonx.Value, error) { return fn(values, given) }}, nil
		},
	}
}
