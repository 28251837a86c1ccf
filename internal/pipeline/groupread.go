package pipeline

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
)

// reader computes several expressions of one document. Those that are paths are read in one walk over its fields.
type reader struct {
	inputs []readerInput
	names  []string // the fields that are wanted
}

// readerInput is one expression: a constant, a path that starts at the wanted field with that number, or anything else.
type readerInput struct {
	expr  expr.Expr
	field int // -1 where it is no path
	rest  []string
	value bsonx.Value // of a constant
}

func newReader(list []expr.Expr) reader {
	var r reader
	for _, e := range list {
		in := readerInput{expr: e, field: -1}
		if path, ok := expr.FieldPath(e); ok {
			first, rest, dotted := strings.Cut(path, ".")
			if dotted {
				in.rest = strings.Split(rest, ".")
			}
			in.field = r.want(first)
		} else if v, ok := expr.ConstValue(e); ok {
			in.expr, in.value = nil, v
		}
		r.inputs = append(r.inputs, in)
	}
	return r
}

// want returns the number of a wanted field.
func (r *reader) want(name string) int {
	for i, n := range r.names {
		if n == name {
			return i
		}
	}
	r.names = append(r.names, name)
	return len(r.names) - 1
}

func (r *reader) start(ctx *expr.Context) *reading {
	return &reading{reader: r, ctx: ctx, values: make([]bsonx.Value, len(r.names))}
}

// reading is the use of a reader by one goroutine.
type reading struct {
	*reader
	ctx    *expr.Context
	values []bsonx.Value // of the wanted fields
}

// read takes the fields of a document. Of several with one name the first counts.
func (r *reading) read(doc bsonx.Doc) {
	r.ctx.Root = bsonx.Document(doc)
	clear(r.values)
	missing := len(r.names)
	if missing == 0 {
		return
	}
	for it := doc.Iter(); it.Next(); {
		key := it.Key()
		for i, name := range r.names {
			if len(name) == len(key) && name == string(key) && r.values[i].IsMissing() {
				r.values[i] = it.Value()
				if missing--; missing == 0 {
					return
				}
				break
			}
		}
	}
}

// value returns the n-th expression's value.
func (r *reading) value(n int) (bsonx.Value, error) {
	in := &r.inputs[n]
	switch {
	case in.expr == nil:
		return in.value, nil
	case in.field < 0:
		return in.expr.Eval(r.ctx)
	}
	v := r.values[in.field]
	for _, name := range in.rest {
		switch v.Type {
		case bsonx.TypeDocument:
			v = v.Doc().Lookup(name)
		case bsonx.TypeArray:
			return in.expr.Eval(r.ctx)
		default:
			return bsonx.Missing, nil
		}
	}
	return v, nil
}
