package update

import (
	"context"
	"strconv"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/torture"
)

// TestFieldsAreCounted compiles updates with many fields, one after another. The memory budget must
// count the largest update and not the sum.
func TestFieldsAreCounted(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	const fields = 100_000
	for _, op := range operatorNames() {
		arg := bsonx.NewBuilder(nil)
		arg.StartDoc()
		for i := range fields {
			if op == "$rename" {
				arg.String(strconv.Itoa(i), "r"+strconv.Itoa(i))
			} else {
				arg.Int32(strconv.Itoa(i), 1)
			}
		}
		arg.End()
		u := bsonx.Document(bsonx.NewDoc(op, bsonx.Doc(arg.Bytes())))
		for limit, want := range map[int64]mongoerr.Code{1 << 30: 0, fields * 100: mongoerr.ExceededMemoryLimit} {
			budget := memory.New(limit)
			var counted memory.Operation
			counted.Use(budget)
			running := &interrupt.Running{}
			running.Set(context.WithValue(t.Context(), memory.OperationKey(), &counted))
			for range 3 {
				if _, err := Parse(u, Options{Running: running}); mongoerr.CodeOf(err) != want {
					t.Errorf("%s with %d bytes: %v", op, limit, err)
				}
			}
			if peak := budget.Stats().Peak; want == 0 && (peak < fields*200 || peak > 400*fields) {
				t.Errorf("%s: %d bytes were counted", op, peak)
			}
			counted.Release()
		}
	}
}

// operatorNames lists operators whose arguments may have any fields.
func operatorNames() []string {
	return []string{"$set", "$unset", "$inc", "$mul", "$min", "$push", "$rename", "$setOnInsert"}
}
