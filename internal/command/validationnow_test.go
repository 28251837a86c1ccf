package command_test

import (
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock/clocktest"
	"github.com/sheafdb/sheaf/internal/command/ddl"
)

// TestValidatorTime checks validators that use $$NOW.
func TestValidatorTime(t *testing.T) {
	t.Parallel()
	h := newHotPath(t, 0)
	past, future := time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	for operator, valid := range map[string]time.Time{"$lt": past, "$gt": future} {
		validator := bsonx.NewDoc("$expr",
			bsonx.NewDoc(operator, []bsonx.Value{bsonx.String("$t"), bsonx.String("$$NOW")}))
		h.run(bsonx.NewDoc("create", operator[1:], "validator", validator, "$db", "db"))
		for _, at := range []time.Time{past, future} {
			reply := h.ask(bsonx.NewDoc("insert", operator[1:], "documents",
				[]bsonx.Doc{bsonx.NewDoc("t", bsonx.Date(at.UnixMilli()))}, "$db", "db"))
			if n, _ := reply.Lookup("n").AsInt64(); n == 1 != at.Equal(valid) {
				t.Errorf("%s: %v: %s", operator, at, bsonx.FormatShell(bsonx.Document(reply)))
			}
		}
		reply := h.run(bsonx.NewDoc("validate", operator[1:], "$db", "db"))
		if n, _ := reply.Lookup("nNonCompliantDocuments").AsInt64(); n != 0 {
			t.Errorf("%s: %d documents are not valid", operator, n)
		}
	}
}

// TestValidatorFollowsTheClock checks that $$NOW of a validator is the time of the clock that the
// store was opened with.
func TestValidatorFollowsTheClock(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	c := clocktest.New(now)
	v, err := ddl.Compiler{Clock: c}.Validator(bsonx.NewDoc("validator", bsonx.NewDoc("$expr",
		bsonx.NewDoc("$lt", []bsonx.Value{bsonx.String("$t"), bsonx.String("$$NOW")}))), nil)
	if err != nil {
		t.Fatal(err)
	}
	doc := bsonx.NewDoc("t", bsonx.Date(now.UnixMilli()))
	if v.Accepts(doc) {
		t.Error("the present is before $$NOW")
	}
	c.Advance(time.Millisecond)
	if !v.Accepts(doc) {
		t.Error("a millisecond later the time is not before $$NOW")
	}
}
