package plan_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TestLargeFiltersAreCounted compiles and plans filters of many predicates. The memory of both must
// be counted, and more of it if an index serves the predicates. Without enough memory they must
// fail.
func TestLargeFiltersAreCounted(t *testing.T) {
	t.Parallel()
	const n = 3000
	f := newFixture(t)
	f.index("a_1_b_1", bsonxtest.MustParse(`{"a": 1, "b": 1}`))
	f.index("a_1_p", bsonxtest.MustParse(`{"a": 1, "p": "2dsphere"}`))
	each := func(form string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = strings.ReplaceAll(form, "#", fmt.Sprint(i))
		}
		return strings.Join(parts, ", ")
	}
	open := func(text string, limit int64) (int64, error) {
		budget, op := memory.New(limit), &memory.Operation{}
		op.Use(budget)
		defer op.Release()
		ctx := context.WithValue(t.Context(), memory.OperationKey(), op)
		running := &interrupt.Running{}
		running.Set(ctx)
		q := f.query(`{}`)
		var err error
		vars := expressions.Scope().WithScripts(js.Options{Running: running})
		if q.Filter, err = filter.Parse(bsonxtest.MustParse(text), filter.FindOptions(vars, time.Time{})); err == nil {
			err = f.open(ctx, q)
		}
		return budget.Stats().Peak, err
	}
	for text, least := range map[string]int64{
		`{"$or": [` + each(`{"a": {"$gt": #}}`) + `]}`:                                                 2500 * n,
		`{"$or": [` + each(`{"f#": {"$gt": 1}}`) + `]}`:                                                700 * n,
		`{` + each(`"f#": 1`) + `}`:                                                                    700 * n,
		`{"a": {"$in": [` + each(`#`) + `]}, "p": {"$nearSphere": [1, 1]}}`:                            230 * n,
		`{"b": {"$nin": [` + each(`{"$regularExpression": {"pattern": "x#$", "options": ""}}`) + `]}}`: 1000 * n,
	} {
		peak, err := open(text, 64<<20)
		if err != nil || peak < least {
			t.Errorf("%.40s: %d bytes are counted, want %d: %v", text, peak, least, err)
		}
		if _, err := open(text, peak/2); mongoerr.CodeOf(err) != mongoerr.ExceededMemoryLimit {
			t.Errorf("%.40s: without memory: %v", text, err)
		}
	}
}
