package foreign

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TestLookupFromDocument checks that a document as "from" is an error, whatever its fields are.
func TestLookupFromDocument(t *testing.T) {
	t.Parallel()
	for _, from := range []bsonx.Doc{
		bsonx.NewDoc(), bsonx.NewDoc("db", "d"), bsonx.NewDoc("coll", "c"), bsonx.NewDoc("db", 1, "coll", "c"),
		bsonx.NewDoc("db", "d", "coll", nil),
	} {
		var args lookupArgs
		if err := args.read(bsonx.NewDoc("from", from)); mongoerr.CodeOf(err) != mongoerr.FailedToParse {
			t.Errorf("%v: %v", from, err)
		}
	}
}
