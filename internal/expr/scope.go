package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The operators here bind variables for a sub-expression.

func ScopeOperators() []Definition {
	return []Definition{
		{Name: "$let", Family: "variable", min: 1, max: 1, Parse: parseLet, Late: true}, // what is constant in it is folded already
		{Name: "$map", Family: "array", min: 1, max: 1, Parse: parseMap, Late: true},
		{Name: "$filter", Family: "array", min: 1, max: 1, Parse: parseFilter, Late: true},
		{Name: "$reduce", Family: "array", min: 1, max: 1, Parse: parseReduce, Late: true},
	}
}

type letExpr struct {
	slots   []int
	values  []Expr
	in      Expr
	running *interrupt.Running
}

// Bound returns the expression as one that is no constant, because MongoDB binds its variables for each document.
func Bound(e Expr) Expr { return &letExpr{in: e} }

func (l *letExpr) Eval(ctx *Context) (bsonx.Value, error) {
	kept := ctx.kept
	v, err := l.eval(ctx)
	ctx.kept = kept
	return v, err
}

func (l *letExpr) eval(ctx *Context) (bsonx.Value, error) {
	for i, e := range l.values {
		v, err := e.Eval(ctx)
		if err != nil {
			return bsonx.Missing, err
		}
		ctx.Bind(l.slots[i], v)
		if err := ctx.worked(len(v.Data), l.running); err != nil {
			return bsonx.Missing, err
		}
		ctx.kept += len(v.Data)
	}
	return l.in.Eval(ctx)
}

func (l *letExpr) Children() []Expr { return append(append([]Expr(nil), l.values...), l.in) }

func parseLet(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(16874, "$let only supports an object as its argument")
	}
	raw, err := rawArgs(arg, unknownArgument{16875, unrecognizedParameter}, def.Name, "vars", "in")
	if err != nil {
		return nil, err
	}
	bound, in := raw[0], raw[1]
	switch {
	case bound.IsMissing():
		return nil, mongoerr.New(16876, "Missing 'vars' parameter to $let")
	case in.IsMissing():
		return nil, mongoerr.New(16877, "Missing 'in' parameter to $let")
	case bound.Type != bsonx.TypeDocument:
		return nil, mongoerr.New(10065, "invalid parameter: expected an object (vars)")
	}
	let := &letExpr{running: vars.Scripts().Running}
	inner := vars
	for it := bound.Doc().Iter(); it.Next(); {
		name := string(it.Key())
		if err := CheckVariableName(name); err != nil {
			return nil, err
		}
		// The values see the outer scope, but may bind slots of their own: these lie above the slots of let.
		outer := vars.above(inner)
		e, err := p.Operand(it.Value(), outer)
		if err != nil {
			return nil, err
		}
		if c, ok := e.(*Const); ok {
			inner = inner.WithConst(name, c.Value)
			inner.inlined = true
			continue
		}
		var slot int
		inner, slot = inner.WithSlot(name)
		let.slots = append(let.slots, slot)
		let.values = append(let.values, e)
	}
	if let.in, err = p.Operand(in, inner); err != nil {
		return nil, err
	}
	if vars.Failures() != nil { // else MongoDB does not optimise, and computes them all
		let.dropUnread()
	}
	if len(let.slots) == 0 {
		return let.in, nil
	}
	return let, nil
}

// dropUnread leaves out the variables that nobody reads.
func (l *letExpr) dropUnread() {
	read := map[int]bool{}
	Walk(l.in, func(e Expr) bool {
		if p, ok := e.(*Path); ok {
			read[p.slot] = true
		}
		return true
	})
	var slots []int
	var values []Expr
	for i, slot := range l.slots {
		if read[slot] {
			slots, values = append(slots, slot), append(values, l.values[i])
		}
	}
	l.slots, l.values = slots, values
}

// above returns the scope v with its free slots beginning where those of other do.
func (v *Vars) above(other *Vars) *Vars {
	if other.nextSlot() == v.nextSlot() {
		return v
	}
	scope := v.child()
	scope.next, scope.collation = other.nextSlot(), nil
	return scope
}

// iterate is what $map, $filter and $reduce have in common: an input and a body that sees its elements.
type iterate struct {
	input, body Expr
	slot        int
	running     *interrupt.Running
}

func (m *iterate) Children() []Expr { return []Expr{m.input, m.body} }

// array evaluates the input. done is true where it is null.
func (m *iterate) array(ctx *Context, name string, code mongoerr.Code) (array bsonx.Doc, done bool, err error) {
	v, err := m.input.Eval(ctx)
	if err != nil {
		return nil, false, err
	}
	if Nullish(v) {
		return nil, true, nil
	}
	if v.Type != bsonx.TypeArray {
		if name == "$reduce" {
			return nil, false, mongoerr.New(code, "$reduce requires that 'input' be an array, found: %s", Show(v))
		}
		return nil, false, mongoerr.New(code, "input to %s must be an array not %s", name, v.Type)
	}
	return v.Doc(), false, nil
}

type mapExpr struct{ iterate }

func (m *mapExpr) Eval(ctx *Context) (bsonx.Value, error) {
	array, null, err := m.array(ctx, "$map", 16883)
	if null || err != nil {
		return bsonx.Null, err
	}
	kept := ctx.kept
	v, err := m.each(ctx, array, kept+len(array))
	ctx.kept = kept
	return v, err
}

// each makes the result. kept is what is kept beside it.
func (m *mapExpr) each(ctx *Context, array bsonx.Doc, kept int) (bsonx.Value, error) {
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	for it := array.Iter(); it.Next(); {
		ctx.Bind(m.slot, it.Value())
		size := b.Len()
		ctx.kept = kept + size
		v, err := m.body.Eval(ctx)
		if err != nil {
			return bsonx.Missing, err
		}
		ctx.kept = kept
		if err := ctx.room(b, len(v.Data), m.running); err != nil {
			return bsonx.Missing, err
		}
		b.Elem(v)
		if err := ctx.grow("$map", b.Len(), b.Len()-size, m.running); err != nil {
			return bsonx.Missing, err
		}
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}

func parseMap(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(16878, "$map only supports an object as its argument")
	}
	raw, err := rawArgs(arg, unknownArgument{16879, unrecognizedParameter}, def.Name, "input", "in", "as")
	if err != nil {
		return nil, err
	}
	for i, code := range []mongoerr.Code{16880, 16882} {
		if raw[i].IsMissing() {
			return nil, mongoerr.New(code, "Missing '%s' parameter to $map", []string{"input", "in"}[i])
		}
	}
	it, _, err := p.iteration(raw[0], raw[1], bsonx.Missing, raw[2], vars)
	return &mapExpr{it}, err
}

// iteration compiles an input, a body that sees its elements, and perhaps a limit.
func (p *Parser) iteration(input, body, limit, as bsonx.Value, vars *Vars) (iterate, Expr, error) {
	name := "this"
	if !as.IsMissing() {
		name = "" // MongoDB's reading of what is no string
		if as.Type == bsonx.TypeString {
			name = as.Str()
		}
		if err := CheckVariableName(name); err != nil {
			return iterate{}, nil, err
		}
	}
	inner, slot := vars.WithSlot(name)
	args, err := p.argsIn(fromLast(3), []bsonx.Value{input, body, limit}, vars, inner, vars)
	if err != nil {
		return iterate{}, nil, err
	}
	return iterate{args[0], args[1], slot, vars.Scripts().Running}, args[2], nil
}

type filterExpr struct {
	iterate
	limit Expr // nil where there is none
}

func (f *filterExpr) Children() []Expr {
	if f.limit == nil {
		return f.iterate.Children()
	}
	return []Expr{f.input, f.body, f.limit}
}

func (f *filterExpr) Eval(ctx *Context) (bsonx.Value, error) {
	array, null, err := f.array(ctx, "$filter", 28651)
	if null || err != nil {
		return bsonx.Null, err
	}
	if array.IsEmpty() {
		return bsonx.Array(array), nil
	}
	limit, err := f.limitOf(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	kept := ctx.kept
	v, err := f.each(ctx, array, limit, kept+len(array))
	ctx.kept = kept
	return v, err
}

// each makes the result. kept is what is kept beside it.
func (f *filterExpr) each(ctx *Context, array bsonx.Doc, limit, kept int) (bsonx.Value, error) {
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	for it := array.Iter(); limit != 0 && it.Next(); {
		ctx.Bind(f.slot, it.Value())
		size := b.Len()
		ctx.kept = kept + size
		keep, err := f.body.Eval(ctx)
		if err != nil {
			return bsonx.Missing, err
		}
		ctx.kept = kept
		if keep.Truthy() {
			if err := ctx.room(b, len(it.Value().Data), f.running); err != nil {
				return bsonx.Missing, err
			}
			b.Elem(it.Value())
			limit--
		}
		if err := ctx.grow("$filter", b.Len(), b.Len()-size, f.running); err != nil {
			return bsonx.Missing, err
		}
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}

// limitOf returns how many elements are wanted; a negative number is no limit.
func (f *filterExpr) limitOf(ctx *Context) (int, error) {
	if f.limit == nil {
		return -1, nil
	}
	v, err := f.limit.Eval(ctx)
	if err != nil || Nullish(v) {
		return -1, err
	}
	n, ok := asInt32(v)
	if !v.Type.IsNumber() || !ok {
		return 0, mongoerr.New(327391, "$filter: limit must be represented as a 32-bit integral value: %s", Show(v))
	}
	if n <= 0 {
		return 0, mongoerr.New(327392, "$filter: limit must be greater than 0: %d", n)
	}
	return n, nil
}

func parseFilter(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(28646, "$filter only supports an object as its argument")
	}
	raw, err := rawArgs(arg, unknownArgument{28647, unrecognizedParameter}, def.Name, "input", "cond", "as", "limit")
	if err != nil {
		return nil, err
	}
	if raw[0].IsMissing() {
		return nil, mongoerr.New(28648, "Missing 'input' parameter to $filter")
	}
	if raw[1].IsMissing() {
		return nil, mongoerr.New(28650, "Missing 'cond' parameter to $filter")
	}
	it, limit, err := p.iteration(raw[0], raw[1], raw[3], raw[2], vars)
	return &filterExpr{it, limit}, err
}

type reduceExpr struct {
	iterate
	initial   Expr
	valueSlot int
}

func (r *reduceExpr) Children() []Expr { return []Expr{r.input, r.initial, r.body} }

func (r *reduceExpr) Eval(ctx *Context) (bsonx.Value, error) {
	array, null, err := r.array(ctx, "$reduce", 40080)
	if null || err != nil {
		return bsonx.Null, err
	}
	value, err := r.initial.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	kept := ctx.kept
	value, err = r.each(ctx, array, value, kept+len(array))
	ctx.kept = kept
	return value, err
}

// each makes the result of value and the elements. kept is what is kept beside it.
func (r *reduceExpr) each(ctx *Context, array bsonx.Doc, value bsonx.Value, kept int) (_ bsonx.Value, err error) {
	n := 0
	for it := array.Iter(); it.Next(); {
		ctx.Bind(r.slot, it.Value())
		ctx.Bind(r.valueSlot, value)
		ctx.kept = kept + len(value.Data)
		if value, err = r.body.Eval(ctx); err != nil {
			return bsonx.Missing, err
		}
		ctx.kept = kept
		if err := ctx.grow("$reduce", len(value.Data), len(value.Data), r.running); err != nil {
			return bsonx.Missing, err
		}
		if n++; n%depthInterval == 0 {
			if err := checkReduced(value); err != nil {
				return bsonx.Missing, err
			}
		}
	}
	return value, checkReduced(value)
}

func parseReduce(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(40075, "$reduce requires an object as an argument, found: %s", arg.Type)
	}
	names := []string{"input", "initialValue", "in"}
	raw, err := rawArgs(arg, unknownArgument{40076, foundUnknown}, def.Name, names...)
	if err != nil {
		return nil, err
	}
	for i, v := range raw {
		if v.IsMissing() {
			return nil, mongoerr.New(mongoerr.Code(40077+i), "$reduce requires '%s' to be specified", names[i])
		}
	}
	r := &reduceExpr{iterate: iterate{running: vars.Scripts().Running}}
	inner := vars
	inner, r.slot = inner.WithSlot("this")
	inner, r.valueSlot = inner.WithSlot("value")
	args, err := p.argsIn(fromLast(len(raw)), raw, vars, vars, inner)
	if err != nil {
		return nil, err
	}
	r.input, r.initial, r.body = args[0], args[1], args[2]
	return r, nil
}
