package plan_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TestLongBoundsAreCounted plans a query of many values with one index and with eight indexes,
// which share the bounds. Both must count the same memory. Without enough memory the query must
// fail.
func TestLongBoundsAreCounted(t *testing.T) {
	t.Parallel()
	const n = 20_000
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprint(i)
	}
	filter := `{"a": {"$in": [` + strings.Join(values, ",") + `]}}`
	peak := func(indexes int, limit int64) (int64, error) {
		f := newFixture(t)
		for i := range indexes {
			f.index(fmt.Sprint("i", i), bsonxtest.MustParse(fmt.Sprintf(`{"a": 1, "b%d": 1}`, i)))
		}
		f.insert(bsonxtest.MustParse(`{"_id": 1, "a": 1}`))
		budget, op := memory.New(limit), &memory.Operation{}
		op.Use(budget)
		defer op.Release()
		err := f.open(context.WithValue(t.Context(), memory.OperationKey(), op), f.query(filter))
		return budget.Stats().Peak, err
	}
	one, err := peak(1, 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	many, err := peak(8, 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	if one < 100*n || many != one {
		t.Errorf("%d bytes are counted for one index, %d for eight", one, many)
	}
	if _, err := peak(8, one/2); mongoerr.CodeOf(err) != mongoerr.ExceededMemoryLimit {
		t.Errorf("without memory: %v", err)
	}
}
