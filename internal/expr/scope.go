package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// letDefinition defines $let. It is not folded, because parseLet folds its constant parts.
func letDefinition() Definition {
	return Definition{
		Name: "$let", Family: "variable", Parse: parseLet, Form: letForm,
		Total: feature.Yes, Folds: feature.No, Depends: OnOperands, StableAPI: feature.Yes,
	}
}

type letExpr struct {
	slots   []int
	values  []Expr
	in      Expr
	running *interrupt.Running
}

// Bound returns an expression with the value of e that does not count as a constant. It stands for
// an expression whose variables MongoDB binds for each document.
func Bound(e Expr) Expr { return &letExpr{in: e} }

func (l *letExpr) Eval(ctx *Context) (bsonx.Value, error) {
	kept := ctx.Kept
	v, err := l.eval(ctx)
	ctx.Kept = kept
	return v, err
}

func (l *letExpr) eval(ctx *Context) (bsonx.Value, error) {
	for i, e := range l.values {
		v, err := e.Eval(ctx)
		if err != nil {
			return bsonx.Missing, err
		}
		ctx.Bind(l.slots[i], v)
		if err := ctx.Worked(len(v.Data), l.running); err != nil {
			return bsonx.Missing, err
		}
		ctx.Kept += len(v.Data)
	}
	return l.in.Eval(ctx)
}

func (l *letExpr) Children() []Expr { return append(append([]Expr(nil), l.values...), l.in) }

// Total returns true: the node has a value for all values of its operands.
func (l *letExpr) Total() bool { return true }

func parseLet(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(16874, "$let only supports an object as its argument")
	}
	raw, err := RawArgs(arg, UnknownArgument{Code: 16875, Text: UnrecognizedParameter}, def.Name, "vars", "in")
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
		// The values are evaluated in the outer scope, but may bind slots of their own. Those slots
		// must lie above the slots of this $let.
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
	// Without Failures, MongoDB does not optimise and evaluates all variables.
	if vars.Failures() != nil {
		let.dropUnread()
	}
	if len(let.slots) == 0 {
		return let.in, nil
	}
	return let, nil
}

// dropUnread removes the variables that the in expression does not read.
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

// above returns the scope v with its free slots starting where the free slots of other start.
func (v *Vars) above(other *Vars) *Vars {
	if other.nextSlot() == v.nextSlot() {
		return v
	}
	scope := v.child()
	scope.next = other.nextSlot()
	return scope
}

// letForm returns the form for explain. It replaces constant variables by their values.
func letForm(s SerialScope, _ *Definition, arg bsonx.Value) Serial {
	inner := s
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	n := 0
	for it := arg.Doc().Lookup("vars").Doc().Iter(); it.Next(); {
		v := s.Operand(it.Value())
		inner = inner.Bind(string(it.Key()), v)
		if !v.Constant {
			b.Value(string(it.Key()), v.Value())
			n++
		}
	}
	b.End()
	in := inner.Operand(arg.Doc().Lookup("in"))
	if n == 0 || in.Constant {
		return in
	}
	return Use("$let", bsonx.Document(bsonx.NewDoc("vars", bsonx.Doc(b.Bytes()), "in", in.Value())))
}
