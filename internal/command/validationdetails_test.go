package command_test

import (
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/torture"
)

// TestValidationDetails inserts documents of several sizes that a validator refuses. The expected
// errors were recorded from MongoDB.
func TestValidationDetails(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	h := newSetPath(t)
	reasons := `{ operatorName: "$or", clausesNotSatisfied: [ { index: 0, details: { operatorName: "$eq", reason: "comparison failed" } }, ` +
		`{ index: 1, details: { operatorName: "$eq", reason: "comparison failed" } } ] }`
	two := bsonx.NewDoc("$or", []bsonx.Doc{bsonx.NewDoc("a", 1), bsonx.NewDoc("a", 2)})
	many := make([]bsonx.Doc, 200_000)
	for i := range many {
		many[i] = bsonx.NewDoc("a", i)
	}
	const whole = 12<<20 - 37 - 104 // leaves room for failingDocumentId and the other fields of details
	for name, c := range map[string]struct {
		validator bsonx.Doc
		size      int
		truncated bool
		details   string // "" accepts any details
		note      string
	}{
		"whole": {bsonx.NewDoc("a", 1), whole, false, "", ""},
		"a byte more": {
			bsonx.NewDoc("a", 1), whole + 1, true,
			`{ operatorName: "$eq", reason: "comparison failed" }`, "",
		},
		"two values": {two, 7 << 20, true, reasons, ""},
		"schema": {bsonx.NewDoc("$jsonSchema",
			bsonx.NewDoc("properties", bsonx.NewDoc("a", bsonx.NewDoc("bsonType", "int")))), 13 << 20, true, "", ""},
		"too many clauses": {bsonx.NewDoc("$or", many), 10, false, "null", "detailed error was too large"},
	} {
		h.run(bsonx.NewDoc("create", "v", "validator", c.validator, "$db", "db"))
		h.send(bsonx.NewDoc("insert", "v", "documents",
			[]bsonx.Doc{bsonx.NewDoc("_id", 1, "a", strings.Repeat("y", c.size))}, "$db", "db"))
		info := bsonx.Doc(h.out[21:]).Lookup("writeErrors").Doc().Index(0).Doc().Lookup("errInfo").Doc()
		if info.Lookup("truncated").Truthy() != c.truncated || c.note != "" && info.Lookup("note").Str() != c.note {
			t.Errorf("%s: %d bytes: %.300s", name, len(info), bsonx.FormatShell(bsonx.Document(info)))
		}
		if got := bsonx.FormatShell(info.Lookup("details")); c.details != "" && got != c.details {
			t.Errorf("%s: %.500s", name, got)
		}
		h.run(bsonx.NewDoc("drop", "v", "$db", "db"))
	}
}
