package filter

import (
	"context"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/js"
)

// operation counts how often it is looked at.
type operation struct {
	context.Context
	looks int
}

func (o *operation) Err() error {
	o.looks++
	return nil
}

// TestInLooks counts how often the operation of a large $in is looked at while it is compiled: the members are read, sorted and
// compared.
func TestInLooks(t *testing.T) {
	t.Parallel()
	const members = 1 << 16
	list := bsonx.NewBuilder(nil)
	list.StartArray()
	for i := range int32(members) {
		list.Elem(bsonx.Int32(i * 7919 % members))
	}
	list.End()
	op, running := &operation{Context: t.Context()}, &interrupt.Running{}
	running.Set(op)
	opts := Options{Vars: (*expr.Vars)(nil).WithScripts(js.Options{Running: running})}
	if _, err := Parse(bsonx.NewDoc("a", bsonx.NewDoc("$in", bsonx.Array(list.Bytes()))), opts); err != nil {
		t.Fatal(err)
	}
	if want := members * interrupt.Step / interrupt.Interval * 10; op.looks < want {
		t.Errorf("%d looks at the operation, want %d", op.looks, want)
	}
}
