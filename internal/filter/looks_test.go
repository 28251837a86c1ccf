package filter

import (
	"strconv"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/interrupt/interrupttest"
	"github.com/sheafdb/sheaf/internal/js"
)

// TestInLooks compiles a large $in, which reads, sorts and compares its members, and counts the
// checks for an interrupt.
func TestInLooks(t *testing.T) {
	t.Parallel()
	const members = 1 << 16
	list := bsonx.NewBuilder(nil)
	list.StartArray()
	for i := range int32(members) {
		list.Elem(bsonx.Int32(i * 7919 % members))
	}
	list.End()
	op, running := interrupttest.New(t.Context()), &interrupt.Running{}
	running.Set(op)
	opts := Options{Vars: (*expr.Vars)(nil).WithScripts(js.Options{Running: running})}
	if _, err := Parse(bsonx.NewDoc("a", bsonx.NewDoc("$in", bsonx.Array(list.Bytes()))), opts); err != nil {
		t.Fatal(err)
	}
	if want := members * interrupt.Step / interrupt.Interval * 10; op.Looks < want {
		t.Errorf("%d looks at the operation, want %d", op.Looks, want)
	}
}

// TestDependencyLooks compiles a schema in which one field depends on many.
func TestDependencyLooks(t *testing.T) {
	t.Parallel()
	const names = 1 << 14
	list := bsonx.NewBuilder(nil)
	list.StartArray()
	for i := range names {
		list.Elem(bsonx.String(strconv.Itoa(i)))
	}
	list.End()
	op, running := interrupttest.New(t.Context()), &interrupt.Running{}
	running.Set(op)
	opts := Options{Vars: (*expr.Vars)(nil).WithScripts(js.Options{Running: running})}
	schema := bsonx.NewDoc("dependencies", bsonx.NewDoc("a", bsonx.Array(list.Bytes())))
	if _, err := Parse(bsonx.NewDoc("$jsonSchema", schema), opts); err != nil {
		t.Fatal(err)
	}
	if want := names * nodeWork / interrupt.Interval; op.Looks < want {
		t.Errorf("%d looks at the operation, want %d", op.Looks, want)
	}
}
