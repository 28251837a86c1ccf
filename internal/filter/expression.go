package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Expr is $expr: an aggregation expression whose value is true for the document.
type Expr struct {
	Expr expr.Expr
	// Spec is the original operand of $expr.
	Spec bsonx.Value

	shown expr.Serializer
}

// Kind returns KindExpr.
func (*Expr) Kind() Kind { return KindExpr }

func (n *Expr) matchDoc(doc bsonx.Doc, st *state) bool {
	v, err := n.eval(doc, st)
	if err != nil {
		return st.fail(err)
	}
	return v.Truthy()
}

func (n *Expr) eval(doc bsonx.Doc, st *state) (bsonx.Value, error) {
	st.ctx.Root = bsonx.Document(doc)
	return n.Expr.Eval(&st.ctx)
}

// matchElem is never called, because the parser rejects $expr in $elemMatch.
func (n *Expr) matchElem(bsonx.Value, *state) bool { return false }

func (n *Expr) serialize(b *serializer) {
	shown := n.shown
	shown.Stopped = b.stopped
	b.Value("$expr", shown.Expression(n.Spec))
}

func parseExpr(p *parser, _ string, v bsonx.Value, level level, _ int) (Node, error) {
	if level == levelElem {
		return nil, mongoerr.New(mongoerr.BadValue, "$expr can only be applied to the top-level document")
	}
	if !p.opts.AllowExpr {
		where := "in this context"
		if p.opts.Upsert {
			where = "in the query predicate for an upsert"
		}
		return nil, mongoerr.New(mongoerr.QueryFeatureNotAllowed, "$expr is not allowed %s", where)
	}
	if p.opts.Validator {
		if err := p.opts.Vars.Operators().CheckInValidator(v); err != nil {
			return nil, err
		}
	}
	e, err := expr.Parse(v, p.opts.Vars.WithFailures(&p.failures))
	if err != nil {
		return nil, err
	}
	return &Expr{Expr: e, Spec: v, shown: expr.Serializer{Vars: p.opts.Vars, Now: p.opts.Now}}, nil
}

// constantFailure returns the error of an expression of constants, which fails for every document.
// A pipeline reports it together with the errors of its other stages. In a validator it makes every
// document invalid.
func (p *parser) constantFailure() error {
	err := p.failures.Err()
	if err == nil || p.opts.Validator {
		return nil
	}
	err = mongoerr.Within("Failed to optimize expression", err)
	if outer := p.opts.Vars.Failures(); outer != nil {
		outer.Add(err)
		return nil
	}
	return err
}
