package update_test

import (
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/update"
)

// inAnds returns a predicate in n nested $and.
func inAnds(n int) bsonx.Doc {
	doc := bsonx.NewDoc("x", 1)
	for range n {
		doc = bsonx.NewDoc("$and", bsonx.NewArray(bsonx.Document(doc)))
	}
	return doc
}

// TestLogicalDepth nests $and in the query of an upsert and in an array filter, as deep as a
// predicate may be and one deeper.
func TestLogicalDepth(t *testing.T) {
	t.Parallel()
	u := parse(t, `{"$set":{"a":1}}`)
	if _, err := update.UpsertDoc(inAnds(limits.FilterDepth), u, update.Env{Now: now}); err != nil {
		t.Error(err)
	}
	_, err := update.UpsertDoc(inAnds(limits.FilterDepth+1), u, update.Env{Now: now})
	if err == nil || !strings.Contains(err.Error(), "nested too deeply") {
		t.Errorf("a query: %v", err)
	}
	for _, depth := range []int{limits.FilterDepth, limits.FilterDepth + 1} {
		o := options(expressions.Scope(), bsonx.NewArray(bsonx.Document(inAnds(depth))))
		_, err := update.Parse(bsonx.Document(bsonx.NewDoc("$set", bsonx.NewDoc("a.$[x]", 1))), o)
		if (err != nil) != (depth > limits.FilterDepth) {
			t.Errorf("an array filter of depth %d: %v", depth, err)
		}
	}
}
