package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// reader evaluates several expressions over one document. It reads their top-level fields in one
// pass over the document.
type reader struct {
	inputs []expr.Expr
	fields *expr.Fields
}

// newReader prepares to evaluate the expressions of list. It fails if the operation has been
// interrupted.
func newReader(list []expr.Expr, running *interrupt.Running) (reader, error) {
	fields, err := expr.BindFields(running, list...)
	return reader{list, fields}, err
}

func (r *reader) start(ctx *expr.Context) *reading { return &reading{reader: r, ctx: ctx} }

// reading is the state of a reader for one goroutine.
type reading struct {
	*reader
	ctx *expr.Context
}

// read loads the fields of doc. Values of the previous document become invalid.
func (r *reading) read(doc bsonx.Doc) {
	r.ctx.Rewind()
	r.ctx.Load(r.fields, doc)
}

// value evaluates expression n for the loaded document.
func (r *reading) value(n int) (bsonx.Value, error) { return r.inputs[n].Eval(r.ctx) }
