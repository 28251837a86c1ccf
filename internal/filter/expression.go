package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Expr is $expr: it matches if the value of an aggregation expression is true.
type Expr struct {
	Expr expr.Expr
	// Spec is the operand of $expr as the client wrote it.
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

// matchElem is never called, because the parser rejects $expr inside $elemMatch.
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

// constantFailure returns the error of a constant expression that fails. In a validator it returns
// nil: there the expression fails for each document, and makes it invalid. A pipeline reports the
// error together with the errors of its other stages.
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
