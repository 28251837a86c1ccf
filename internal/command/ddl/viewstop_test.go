package ddl

import (
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
)

// TestViewStops checks that the check of a view's pipeline can be interrupted.
func TestViewStops(t *testing.T) {
	t.Parallel()
	op := &session.Op{}
	op.Begin(t.Context(), 1, time.Now())
	defer op.Finish()
	r := &command.Request{Service: &command.Service{}, DB: "db", Op: op}
	stages := bsonx.NewArray(bsonx.NewDoc("$match",
		bsonx.NewDoc("$or", []bsonx.Doc{bsonx.NewDoc("a", 1), bsonx.NewDoc("b", 1)})))
	if err := checkViewPipeline(r, "v", stages); err != nil {
		t.Fatal(err)
	}
	op.Kill(1)
	if err := checkViewPipeline(r, "v", stages); mongoerr.CodeOf(err) != mongoerr.Interrupted {
		t.Errorf("an operation that was killed: %v", err)
	}
}
