package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// objectExpr builds a document. It omits fields whose value is missing.
type objectExpr struct {
	names   []string
	values  []Expr
	running *interrupt.Running // signals interrupts of the operation; nil never does
}

func (o *objectExpr) Eval(ctx *Context) (bsonx.Value, error) {
	kept := ctx.Kept
	v, err := o.eval(ctx)
	ctx.Kept = kept
	return v, err
}

func (o *objectExpr) eval(ctx *Context) (bsonx.Value, error) {
	kept := ctx.Kept
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for i, e := range o.values {
		v, err := e.Eval(ctx)
		if err != nil {
			return bsonx.Missing, err
		}
		ctx.Kept = kept
		if err := ctx.Room(b, len(v.Data), o.running); err != nil {
			return bsonx.Missing, err
		}
		b.Value(o.names[i], v)
		if err := CheckBytes("an object", b.Len()); err != nil {
			return bsonx.Missing, err
		}
		ctx.Kept = kept + b.Len()
	}
	b.End()
	return bsonx.Document(b.Bytes()), ctx.Read(b.Len(), o.running)
}

func (o *objectExpr) Children() []Expr { return o.values }

// Total returns true: the node has a value for all values of its operands.
func (o *objectExpr) Total() bool { return true }

// arrayExpr builds an array. Elements whose value is missing become null.
type arrayExpr struct {
	elems   []Expr
	running *interrupt.Running // signals interrupts of the operation; nil never does
}

func (a *arrayExpr) Eval(ctx *Context) (bsonx.Value, error) {
	kept := ctx.Kept
	v, err := a.eval(ctx)
	ctx.Kept = kept
	return v, err
}

func (a *arrayExpr) eval(ctx *Context) (bsonx.Value, error) {
	kept := ctx.Kept
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	for _, e := range a.elems {
		v, err := e.Eval(ctx)
		if err != nil {
			return bsonx.Missing, err
		}
		ctx.Kept = kept
		if err := ctx.Room(b, len(v.Data), a.running); err != nil {
			return bsonx.Missing, err
		}
		b.Elem(v)
		if err := CheckBytes("an array", b.Len()); err != nil {
			return bsonx.Missing, err
		}
		ctx.Kept = kept + b.Len()
	}
	b.End()
	return bsonx.Array(b.Bytes()), ctx.Read(b.Len(), a.running)
}

func (a *arrayExpr) Children() []Expr { return a.elems }

// Total returns true: the node has a value for all values of its operands.
func (a *arrayExpr) Total() bool { return true }

func literalDefinition() Definition {
	return Definition{
		Name: "$literal", Family: "literal", Parse: parseLiteral, Form: literalForm, Verbatim: true,
		Total: feature.Yes, Folds: feature.Yes, Depends: OnOperands, StableAPI: feature.Yes,
	}
}

func constDefinition() Definition {
	def := literalDefinition()
	def.Name, def.Note = "$const", "internal alias of $literal"
	return def
}

func literalForm(_ SerialScope, _ *Definition, arg bsonx.Value) Serial { return constant(arg) }

func parseLiteral(_ *Parser, _ *Definition, arg bsonx.Value, _ *Vars) (Expr, error) {
	return &Const{arg.Clone()}, nil
}

// ObjectFields returns the fields of an object expression {a: …, b: …}. ok is false for other
// expressions.
func ObjectFields(e Expr) (names []string, values []Expr, ok bool) {
	o, ok := e.(*objectExpr)
	if !ok {
		return nil, nil, false
	}
	return o.names, o.values, true
}

// NewObject returns an expression that builds a document with the given fields.
func NewObject(names []string, values []Expr) Expr { return &objectExpr{names: names, values: values} }
