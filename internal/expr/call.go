package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The nodes in this file evaluate all operands and pass them to a function. Most operators need
// only this.

// Functions of operators. They may allocate their result in the context's arena; functions that do
// not need the arena are wrapped by Plain1, plain2 or PlainN.

type (
	// Func1 computes an operator of one operand.
	Func1 func(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error)
	// Func2 computes an operator of two operands.
	Func2 func(out *bsonx.Arena, a, b bsonx.Value) (bsonx.Value, error)
	// FuncN computes an operator of several operands.
	FuncN func(out *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error)
)

// Plain1 returns a Func1 for a function that needs no arena.
func Plain1(fn func(bsonx.Value) (bsonx.Value, error)) Func1 {
	return func(_ *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) { return fn(v) }
}

func plain2(fn func(a, b bsonx.Value) (bsonx.Value, error)) Func2 {
	return func(_ *bsonx.Arena, a, b bsonx.Value) (bsonx.Value, error) { return fn(a, b) }
}

// PlainN returns a FuncN for a function that needs no arena.
func PlainN(fn func([]bsonx.Value) (bsonx.Value, error)) FuncN {
	return func(_ *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) { return fn(args) }
}

type call1 struct {
	arg     Expr
	fn      Func1
	total   bool               // the property Total of the definition
	running *interrupt.Running // signals interrupts of the operation; nil never does
}

func (c *call1) Eval(ctx *Context) (bsonx.Value, error) {
	v, err := c.arg.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	if err := ctx.Read(len(v.Data), c.running); err != nil {
		return bsonx.Missing, err
	}
	made, err := c.fn(&ctx.Arena, v)
	return made, ctx.made(made, err, c.running)
}

func (c *call1) Children() []Expr { return []Expr{c.arg} }

// Total reports whether the function has a result for every operand.
func (c *call1) Total() bool { return c.total }

type call2 struct {
	a, b    Expr
	fn      Func2
	total   bool               // the property Total of the definition
	swapped bool               // the property Swapped of the definition
	running *interrupt.Running // signals interrupts of the operation; nil never does
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

// both evaluates first and then second. While it evaluates second, the bytes of the first value
// count as kept.
func (c *Context) both(first, second Expr) (a, b bsonx.Value, err error) {
	if a, err = first.Eval(c); err != nil {
		return bsonx.Missing, bsonx.Missing, err
	}
	c.Kept += len(a.Data)
	b, err = second.Eval(c)
	c.Kept -= len(a.Data)
	return a, b, err
}

// of calls the function with the evaluated operands, and adds the work.
func (c *call2) of(ctx *Context, a, b bsonx.Value) (bsonx.Value, error) {
	if err := ctx.Read(len(a.Data)+len(b.Data), c.running); err != nil {
		return bsonx.Missing, err
	}
	made, err := c.fn(&ctx.Arena, a, b)
	return made, ctx.made(made, err, c.running)
}

func (c *call2) Children() []Expr { return []Expr{c.a, c.b} }

// Total reports whether the function has a result for all operands.
func (c *call2) Total() bool { return c.total }

// CallN calls a function with the values of several operands. Optional operands that are absent are
// nil in Args and missing in the call.
type CallN struct {
	Def  *Definition
	Args []Expr
	Fn   FuncN

	Running *interrupt.Running // signals interrupts of the operation; nil never does
}

// Laziness describes an operator that in MongoDB checks its operands one after the other. An
// invalid or null operand then takes precedence over an error in a later operand.
type Laziness struct {
	// From is the position of the first operand that MongoDB evaluates only after it has checked
	// the earlier operands.
	From int
	// Rest contains placeholders for the operands that were not evaluated. It is nil if the number
	// of operands varies.
	Rest []bsonx.Value
	// Refutes reports that the result is final if it is false for the first operands, whatever the
	// other operands are.
	Refutes bool
}

// Eval evaluates all operands and calls the function.
func (c *CallN) Eval(ctx *Context) (bsonx.Value, error) {
	base, size, kept := len(ctx.stack), 0, ctx.Kept
	for _, arg := range c.Args {
		v, err := EvalOptional(ctx, arg)
		if err != nil {
			ctx.Kept = kept
			v, err = c.decided(ctx, base, err)
			ctx.stack = ctx.stack[:base]
			return v, err
		}
		ctx.stack = append(ctx.stack, v)
		size += len(v.Data)
		ctx.Kept = kept + size
	}
	ctx.Kept = kept
	if err := ctx.Read(size, c.Running); err != nil {
		ctx.stack = ctx.stack[:base]
		return bsonx.Missing, err
	}
	v, err := c.Fn(&ctx.Arena, ctx.stack[base:])
	ctx.stack = ctx.stack[:base]
	return v, ctx.made(v, err, c.Running)
}

// decided is called when the evaluation of an operand has failed. It returns the result if the
// earlier operands determine it, and otherwise failure.
func (c *CallN) decided(ctx *Context, base int, failure error) (bsonx.Value, error) {
	n, lazy := len(ctx.stack)-base, c.Def.Lazy
	if lazy == nil || n < lazy.From {
		return bsonx.Missing, failure
	}
	if lazy.Rest != nil {
		ctx.stack = append(ctx.stack, lazy.Rest[n:len(c.Args)]...)
	}
	v, err := c.Fn(&ctx.Arena, ctx.stack[base:])
	if err != nil || v.Type == bsonx.TypeNull || lazy.Refutes && !v.Truthy() {
		return v, err
	}
	return bsonx.Missing, failure
}

// Children returns the operands that are not absent.
func (c *CallN) Children() []Expr { return Present(c.Args) }

// Total reports whether the function has a result for all operands.
func (c *CallN) Total() bool { return c.Def.Total == feature.Yes }

// EvalOptional evaluates an optional argument. A nil e gives bsonx.Missing.
func EvalOptional(ctx *Context, e Expr) (bsonx.Value, error) {
	if e == nil {
		return bsonx.Missing, nil
	}
	return e.Eval(ctx)
}

// Present returns the expressions of list that are not nil.
func Present(list []Expr) []Expr {
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

// Op1 returns a parser for an operator with exactly one operand.
func Op1(fn func(bsonx.Value) (bsonx.Value, error)) ParseFunc { return Make1(Plain1(fn)) }

// Make1 is Op1 for a function that allocates its result in an arena.
func Make1(fn Func1) ParseFunc { return make1(func(*Vars) Func1 { return fn }) }

// make1 is Make1 for a function that depends on the scope.
func make1(in func(vars *Vars) Func1) ParseFunc {
	return func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
		args, err := p.counted(def, 1, 1, arg, vars)
		if err != nil {
			return nil, err
		}
		return &call1{arg: args[0], fn: in(vars), total: def.Total == feature.Yes, running: vars.Scripts().Running}, nil
	}
}

// Make2 returns a parser for an operator with exactly two operands, whose function allocates its
// result in an arena.
func Make2(fn Func2) ParseFunc { return make2(func(*Vars) Func2 { return fn }) }

// Op2 is Make2 for a function that needs no arena.
func Op2(fn func(a, b bsonx.Value) (bsonx.Value, error)) ParseFunc { return Make2(plain2(fn)) }

// make2 is Make2 for a function that depends on the scope.
func make2(in func(vars *Vars) Func2) ParseFunc {
	return func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
		args, err := p.counted(def, 2, 2, arg, vars)
		if err != nil {
			return nil, err
		}
		return &call2{
			a: args[0], b: args[1], fn: in(vars), total: def.Total == feature.Yes, swapped: def.Swapped,
			running: vars.Scripts().Running,
		}, nil
	}
}

// OpN returns a parser for an operator whose definition has Min and Max operands.
func OpN(fn func(args []bsonx.Value) (bsonx.Value, error)) ParseFunc { return MakeN(PlainN(fn)) }

// MakeN is OpN for a function that allocates its result in an arena.
func MakeN(fn FuncN) ParseFunc { return makeN(func(*Vars, *interrupt.Running) FuncN { return fn }) }

// makeN is MakeN for a function that depends on the scope and checks for interrupts. When constant
// operands are combined during parsing, running is nil.
func makeN(in func(vars *Vars, running *interrupt.Running) FuncN) ParseFunc {
	return func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
		args, err := p.arguments(def, arg, vars)
		if err != nil {
			return nil, err
		}
		call := &CallN{Def: def, Args: args, Running: vars.Scripts().Running}
		if def.Association != AssocNone {
			call.Fn = in(vars, nil)
			err = call.combine(vars)
		}
		call.Fn = in(vars, call.Running)
		return call, err
	}
}

// OpNamed returns a parser for an operator with a document of named arguments. The function gets
// the values in the order of Definition.Arguments; an absent argument is missing.
func OpNamed(named Named, fn func(args []bsonx.Value) (bsonx.Value, error)) ParseFunc {
	return makeNamed(named, func(*Vars) FuncN { return PlainN(fn) })
}

func makeNamed(named Named, in func(vars *Vars) FuncN) ParseFunc {
	return func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
		args, err := p.parseNamed(def, arg, vars, named)
		if err != nil {
			return nil, err
		}
		return &CallN{Def: def, Args: args, Running: vars.Scripts().Running, Fn: in(vars)}, nil
	}
}

// Named describes the required arguments of an operator with named arguments, and its error codes.
// Missing has one code for each required argument, or one code for all.
type Named struct {
	Required  int // the number of required arguments, which come first
	NotObject mongoerr.Code
	Unknown   UnknownArgument
	Missing   []mongoerr.Code
	// NotObjectText and MissingText replace the usual error texts. Their parameters are the
	// operator's name, and the type of the argument or the name of the missing argument.
	NotObjectText, MissingText string
}

func (c *Named) refuse(def *Definition, arg bsonx.Value) error {
	if c.NotObjectText != "" {
		return mongoerr.New(c.NotObject, c.NotObjectText, def.Name, arg.Type)
	}
	return mongoerr.New(c.NotObject, "%s only supports an object as its argument", def.Name)
}

// parseNamed compiles named arguments in the order of the document. It then returns an error if a
// required argument is missing.
func (p *Parser) parseNamed(def *Definition, arg bsonx.Value, vars *Vars, named Named) ([]Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, named.refuse(def, arg)
	}
	args, err := p.NamedArgs(arg, vars, named.Unknown, def.Name, def.Arguments...)
	if err != nil {
		return nil, err
	}
	for i := range named.Required {
		if args[i] == nil {
			return nil, named.miss(def, i)
		}
	}
	return args, nil
}

// ParseNamedLate is parseNamed for operators that MongoDB compiles after it has read all arguments.
// It compiles the last argument first, like MongoDB.
func (p *Parser) ParseNamedLate(def *Definition, arg bsonx.Value, vars *Vars, named Named) ([]Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, named.refuse(def, arg)
	}
	raw, err := RawArgs(arg, named.Unknown, def.Name, def.Arguments...)
	if err != nil {
		return nil, err
	}
	for i := range named.Required {
		if raw[i].IsMissing() {
			return nil, named.miss(def, i)
		}
	}
	return p.ArgsIn(FromLast(len(raw)), raw, vars)
}

func (c *Named) miss(def *Definition, i int) error {
	code := c.Missing[min(i, len(c.Missing)-1)]
	if c.MissingText != "" {
		return mongoerr.New(code, c.MissingText, def.Name, def.Arguments[i])
	}
	return mongoerr.New(code, "Missing '%s' parameter to %s", def.Arguments[i], def.Name)
}
