package projection_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/projection"
)

// TestCompiledFormIsCounted compiles specifications with many fields. Their heap memory must count
// in the operation's memory budget, and compiling must fail if the budget is exhausted. The test is
// not parallel, because it measures the heap of the whole process.
func TestCompiledFormIsCounted(t *testing.T) { //nolint:paralleltest // see above
	const fields = 20_000
	spec := func(name string, value any) bsonx.Doc {
		b := bsonx.NewBuilder(nil)
		b.StartDoc()
		for i := range fields {
			b.Value(strings.ReplaceAll(name, "#", fmt.Sprint(i)), bsonx.NewDoc("v", value).Lookup("v"))
		}
		b.End()
		return bsonx.Doc(b.Bytes())
	}
	paths := make([]string, fields)
	for i := range paths {
		paths[i] = fmt.Sprintf("a%d.b.c", i)
	}
	for name, c := range map[string]struct {
		parse func(bsonx.Doc, projection.Options) (*projection.Projection, error)
		spec  bsonx.Doc
	}{
		"fields":   {projection.Parse, spec("a#", 1)},
		"paths":    {projection.Parse, spec("a#.b.c.d", 1)},
		"excluded": {projection.Parse, spec("a#.b.c.d", 0)},
		"nested":   {projection.Parse, spec("a#", bsonx.NewDoc("b", bsonx.NewDoc("c", 1)))},
		"computed": {projection.Parse, spec("a#", "$b.c")},
		"$project": {projection.ParseStage, spec("a#.b", 1)},
		"$set":     {projection.ParseAddFields, spec("a#.b.c", 1)},
		"$unset": {parse: func(_ bsonx.Doc, o projection.Options) (*projection.Projection, error) {
			return projection.ParseUnset(paths, o)
		}},
	} {
		open := func(limit int64) (counted int64, p *projection.Projection, err error) {
			op := &memory.Operation{}
			op.Use(memory.New(limit))
			defer op.Release()
			var running interrupt.Running
			running.Set(context.WithValue(t.Context(), memory.OperationKey(), op))
			vars := expressions.Scope().WithScripts(js.Options{Running: &running}).WithFailures(&expr.Failures{})
			p, err = c.parse(c.spec, projection.Options{Vars: vars})
			return op.HandOver(), p, err
		}
		before := heapBytes()
		counted, p, err := open(1 << 30)
		if err != nil {
			t.Fatal(err)
		}
		if takes := heapBytes() - before; counted < takes*3/4 || counted > 3*takes {
			t.Errorf("%s: %d bytes are counted of %d", name, counted, takes)
		}
		runtime.KeepAlive(p)
		if _, _, err := open(counted / 2); mongoerr.CodeOf(err) != mongoerr.ExceededMemoryLimit {
			t.Errorf("%s: without memory: %v", name, err)
		}
	}
}

// heapBytes returns the size of the reachable heap in bytes.
func heapBytes() int64 {
	runtime.GC()
	runtime.GC() // data in pools is freed by the second collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
