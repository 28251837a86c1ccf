package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// reader computes several expressions of one document, whose fields are read in one walk.
type reader struct {
	inputs []expr.Expr
	fields *expr.Fields
}

// newReader fails where the operation ends.
func newReader(list []expr.Expr, running *interrupt.Running) (reader, error) {
	fields, err := expr.BindFields(running, list...)
	return reader{list, fields}, err
}

func (r *reader) start(ctx *expr.Context) *reading { return &reading{reader: r, ctx: ctx} }

// reading is the use of a reader by one goroutine.
type reading struct {
	*reader
	ctx *expr.Context
}

// read takes the fields of a document. The values of the one before are not valid any more.
func (r *reading) read(doc bsonx.Doc) {
	r.ctx.Rewind()
	r.ctx.Load(r.fields, doc)
}

// value returns the n-th expression's value.
func (r *reading) value(n int) (bsonx.Value, error) { return r.inputs[n].Eval(r.ctx) }
