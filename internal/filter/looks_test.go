package filter

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/interrupt/interrupttest"
	"github.com/sheafdb/sheaf/internal/js"
)

// TestInLooks compiles a large $in, which parses, sorts and compares its members, and counts the
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
	opts := Options{Vars: expressions.Scope().WithScripts(js.Options{Running: running})}
	if _, err := Parse(bsonx.NewDoc("a", bsonx.NewDoc("$in", bsonx.Array(list.Bytes()))), opts); err != nil {
		t.Fatal(err)
	}
	if want := members * interrupt.Step / interrupt.Interval * 10; op.Looks < want {
		t.Errorf("%d looks at the operation, want %d", op.Looks, want)
	}
}

// TestDependencyLooks compiles a schema in which one field depends on many others, and counts the
// checks for an interrupt.
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
	opts := Options{Vars: expressions.Scope().WithScripts(js.Options{Running: running})}
	schema := bsonx.NewDoc("dependencies", bsonx.NewDoc("a", bsonx.Array(list.Bytes())))
	if _, err := Parse(bsonx.NewDoc("$jsonSchema", schema), opts); err != nil {
		t.Fatal(err)
	}
	if want := names * nodeWork / interrupt.Interval; op.Looks < want {
		t.Errorf("%d looks at the operation, want %d", op.Looks, want)
	}
}

// TestShapeLooks computes shape keys and serialised forms of large filters, and counts the checks
// for an interrupt.
func TestShapeLooks(t *testing.T) {
	t.Parallel()
	const branches = 1 << 14
	var plain, computed []any
	for i := range branches {
		plain = append(plain, bsonx.NewDoc("a", bsonx.NewDoc("$gt", i)))
		computed = append(computed, bsonx.NewDoc("$eq", bsonx.NewArray("$a", i)))
	}
	for _, spec := range []bsonx.Doc{
		bsonx.NewDoc("$or", bsonx.NewArray(plain...)),
		bsonx.NewDoc("$expr", bsonx.NewDoc("$or", bsonx.NewArray(computed...))),
	} {
		f, err := Parse(spec, FindOptions(expressions.Scope(), time.Time{}))
		if err != nil {
			t.Fatal(err)
		}
		const want = branches * interrupt.Step / interrupt.Interval
		for name, write := range map[string]func(context.Context) error{
			"shape": func(ctx context.Context) error { _, err := f.AppendShapeKey(ctx, nil); return err },
			"form":  func(ctx context.Context) error { _, err := SerializeWithin(ctx, f.Root); return err },
		} {
			op := interrupttest.New(t.Context())
			if err := write(op); err != nil || op.Looks < want {
				t.Errorf("%.20v, %s: %v, %d looks at the operation, want %d", spec, name, err, op.Looks, want)
			}
			op = interrupttest.EndAfter(t.Context(), 1)
			if err := write(op); !errors.Is(err, interrupttest.ErrEnded) || op.Looks > 3 {
				t.Errorf("%.20v, %s: %v after %d looks", spec, name, err, op.Looks)
			}
		}
	}
}
