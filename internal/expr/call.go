package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The nodes here evaluate all operands and pass them to a function. Most operators need nothing more.

// The functions are given the context's arena for what they make; those that do not need it are wrapped.

type (
	func1 func(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error)
	func2 func(out *bsonx.Arena, a, b bsonx.Value) (bsonx.Value, error)
	funcN func(out *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error)
)

func plain1(fn func(bsonx.Value) (bsonx.Value, error)) func1 {
	return func(_ *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) { return fn(v) }
}

func plain2(fn func(a, b bsonx.Value) (bsonx.Value, error)) func2 {
	return func(_ *bsonx.Arena, a, b bsonx.Value) (bsonx.Value, error) { return fn(a, b) }
}

func plainN(fn func([]bsonx.Value) (bsonx.Value, error)) funcN {
	return func(_ *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) { return fn(args) }
}

type call1 struct {
	arg     Expr
	fn      func1
	total   bool               // fn returns no error
	running *interrupt.Running // the operation; nil never ends
}

func (c *call1) Eval(ctx *Context) (bsonx.Value, error) {
	v, err := c.arg.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	if err := ctx.Read(len(v.Data), c.running); err != nil {
		return bsonx.Missing, err
	}
	made, err := c.fn(&ctx.arena, v)
	return made, ctx.made(made, err, c.running)
}

func (c *call1) Children() []Expr { return []Expr{c.arg} }

type call2 struct {
	a, b  Expr
	fn    func2
	total bool // fn returns no error
	// swapped says that the second operand is evaluated first: where both fail it is its error.
	swapped bool
	running *interrupt.Running // the operation; nil never ends
}

func (c *call2) Eval(ctx *Context) (bsonx.Value, error) {
	if c.swapped {
		b, a, err := ctx.both(c.b, c.a)
		if err != nil {
			return bsonx.Missing, err
		}
		return c.of(ctx, a, b)
	}
	a, b, err := ctx.both(c.a, c.b)
	if err != nil {
		return bsonx.Missing, err
	}
	return c.of(ctx, a, b)
}

// both evaluates two operands.
func (c *Context) both(first, second Expr) (a, b bsonx.Value, err error) {
	if a, err = first.Eval(c); err != nil {
		return bsonx.Missing, bsonx.Missing, err
	}
	c.kept += len(a.Data)
	b, err = second.Eval(c)
	c.kept -= len(a.Data)
	return a, b, err
}

// of calls the function with its operands.
func (c *call2) of(ctx *Context, a, b bsonx.Value) (bsonx.Value, error) {
	if err := ctx.Read(len(a.Data)+len(b.Data), c.running); err != nil {
		return bsonx.Missing, err
	}
	made, err := c.fn(&ctx.arena, a, b)
	return made, ctx.made(made, err, c.running)
}

func (c *call2) Children() []Expr { return []Expr{c.a, c.b} }

type callN struct {
	op   string
	args []Expr
	fn   funcN
	lazy *laziness // nil where all operands are evaluated before the first is looked at

	running *interrupt.Running // the operation; nil never ends
}

// laziness says that an operator looks at its operands one after the other: what is wrong with one, or null, counts before
// the error of a later one.
type laziness struct {
	from int           // the first operand that is evaluated after those before it were looked at
	rest []bsonx.Value // stand for the operands that were not evaluated; nil where there may be any number
	// refutes says that a false result for the first operands is one for all.
	refutes bool
}

func (c *callN) Eval(ctx *Context) (bsonx.Value, error) {
	base, size, kept := len(ctx.stack), 0, ctx.kept
	for _, arg := range c.args {
		v, err := evalOptional(ctx, arg)
		if err != nil {
			ctx.kept = kept
			v, err = c.decided(ctx, base, err)
			ctx.stack = ctx.stack[:base]
			return v, err
		}
		ctx.stack = append(ctx.stack, v)
		size += len(v.Data)
		ctx.kept = kept + size
	}
	ctx.kept = kept
	if err := ctx.Read(size, c.running); err != nil {
		ctx.stack = ctx.stack[:base]
		return bsonx.Missing, err
	}
	v, err := c.fn(&ctx.arena, ctx.stack[base:])
	ctx.stack = ctx.stack[:base]
	return v, ctx.made(v, err, c.running)
}

// decided returns the result that the operands before one that failed have already decided, else the failure.
func (c *callN) decided(ctx *Context, base int, failure error) (bsonx.Value, error) {
	n := len(ctx.stack) - base
	if c.lazy == nil || n < c.lazy.from {
		return bsonx.Missing, failure
	}
	if c.lazy.rest != nil {
		ctx.stack = append(ctx.stack, c.lazy.rest[n:len(c.args)]...)
	}
	v, err := c.fn(&ctx.arena, ctx.stack[base:])
	if err != nil || v.Type == bsonx.TypeNull || c.lazy.refutes && !v.Truthy() {
		return v, err
	}
	return bsonx.Missing, failure
}

func (c *callN) Children() []Expr { return present(c.args) }

// lazily makes an operator of callN lazy.
func lazily(def Definition, from int, rest ...bsonx.Value) Definition {
	parse, lazy := def.Parse, &laziness{from: from, rest: rest}
	def.Parse = func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
		e, err := parse(p, def, arg, vars)
		if call, ok := e.(*callN); ok {
			call.lazy = lazy
		}
		return e, err
	}
	return def
}

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
func op1(name, family string, fn func(bsonx.Value) (bsonx.Value, error)) Definition {
	return make1(name, family, plain1(fn))
}

// make1 is op1 for a function that makes its result in an arena.
func make1(name, family string, fn func1) Definition {
	return Definition{
		Name: name, Family: family, min: 1, max: 1,
		Parse: func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			args, err := p.arguments(def, arg, vars)
			if err != nil {
				return nil, err
			}
			return &call1{arg: args[0], fn: fn, running: vars.Scripts().Running}, nil
		},
	}
}

// op2 defines an operator of exactly two operands.
func op2(name, family string, fn func(a, b bsonx.Value) (bsonx.Value, error)) Definition {
	return make2(name, family, plain2(fn))
}

// make2 is op2 for a function that makes its result in an arena.
func make2(name, family string, fn func2) Definition {
	return Definition{
		Name: name, Family: family, min: 2, max: 2,
		Parse: func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			args, err := p.arguments(def, arg, vars)
			if err != nil {
				return nil, err
			}
			return &call2{a: args[0], b: args[1], fn: fn, running: vars.Scripts().Running}, nil
		},
	}
}

// swapped makes an operator of call2 evaluate its second operand first.
func swapped(def Definition) Definition {
	parse := def.Parse
	def.Parse = func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
		e, err := parse(p, def, arg, vars)
		if call, ok := e.(*call2); ok {
			call.swapped = true
		}
		return e, err
	}
	return def
}

// opN defines an operator of min to max operands; max -1 is no limit.
func opN(name, family string, minArgs, maxArgs int, fn func(args []bsonx.Value) (bsonx.Value, error)) Definition {
	return makeN(name, family, minArgs, maxArgs, plainN(fn))
}

// makeN is opN for a function that makes its result in an arena.
func makeN(name, family string, minArgs, maxArgs int, fn funcN) Definition {
	return Definition{
		Name: name, Family: family, min: minArgs, max: maxArgs,
		Parse: func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			args, err := p.arguments(def, arg, vars)
			if err != nil {
				return nil, err
			}
			return &callN{op: def.Name, args: args, running: vars.Scripts().Running, fn: fn}, nil
		},
	}
}

// opAssociative defines an operator of any number of operands, runs of which may be combined.
func opAssociative(name, family string, how association, fn funcN) Definition {
	return associative(name, family, how, func(*Vars) funcN { return fn })
}

// associative is opAssociative for a function that depends on the scope.
func associative(name, family string, how association, in func(vars *Vars) funcN) Definition {
	return Definition{
		Name: name, Family: family, max: -1,
		Parse: func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			args, err := p.arguments(def, arg, vars)
			if err != nil {
				return nil, err
			}
			call := &callN{op: def.Name, args: args, running: vars.Scripts().Running, fn: in(vars)}
			return call, call.combine(how, vars)
		},
	}
}

// opNamed defines an operator with a document of named arguments. The function gets them in the order of names,
// missing where absent. The codes are for an argument that is no document, an unknown name, and a required name
// that is absent.
func opNamed(name, family string, codes namedCodes, required int, names []string,
	fn func(args []bsonx.Value) (bsonx.Value, error),
) Definition {
	return Definition{
		Name: name, Family: family, min: 1, max: 1,
		Parse: func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			args, err := p.parseNamed(def, arg, vars, codes, required, names)
			if err != nil {
				return nil, err
			}
			return &callN{op: def.Name, args: args, running: vars.Scripts().Running, fn: plainN(fn)}, nil
		},
	}
}

// namedCodes are the error codes of an operator with named arguments. Where absent names differ in code, missing
// has one code per required name, else one for all.
type namedCodes struct {
	notObject mongoerr.Code
	unknown   unknownArgument
	missing   []mongoerr.Code
	// notObjectText and missingText are texts other than the usual ones. They have the operator's name, and then the type of the argument or
	// the name of the missing one.
	notObjectText, missingText string
}

func (c *namedCodes) refuse(def *Definition, arg bsonx.Value) error {
	if c.notObjectText != "" {
		return mongoerr.New(c.notObject, c.notObjectText, def.Name, arg.Type)
	}
	return mongoerr.New(c.notObject, "%s only supports an object as its argument", def.Name)
}

// parseNamed compiles named arguments in the order of the document, and misses the first required ones among names then.
func (p *Parser) parseNamed(def *Definition, arg bsonx.Value, vars *Vars, codes namedCodes, required int, names []string) ([]Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, codes.refuse(def, arg)
	}
	args, err := p.namedArgs(arg, vars, codes.unknown, def.Name, names...)
	if err != nil {
		return nil, err
	}
	for i := range required {
		if args[i] == nil {
			return nil, codes.miss(def, names, i)
		}
	}
	return args, nil
}

// parseNamedLate is parseNamed for operators that MongoDB compiles once it has all arguments: the last of names first.
func (p *Parser) parseNamedLate(def *Definition, arg bsonx.Value, vars *Vars, codes namedCodes, required int, names []string) ([]Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, codes.refuse(def, arg)
	}
	raw, err := rawArgs(arg, codes.unknown, def.Name, names...)
	if err != nil {
		return nil, err
	}
	for i := range required {
		if raw[i].IsMissing() {
			return nil, codes.miss(def, names, i)
		}
	}
	return p.argsIn(fromLast(len(raw)), raw, vars)
}

func (c *namedCodes) miss(def *Definition, names []string, i int) error {
	code := c.missing[min(i, len(c.missing)-1)]
	if c.missingText != "" {
		return mongoerr.New(code, c.missingText, def.Name, names[i])
	}
	return mongoerr.New(code, "Missing '%s' parameter to %s", names[i], def.Name)
}
