package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// parseIndexStats compiles $indexStats, which tells how often each index was used.
func parseIndexStats(arg bsonx.Value, _ Options) ([]stage, error) {
	if arg.Type != bsonx.TypeDocument || !arg.Doc().IsEmpty() {
		return nil, mongoerr.New(codeIndexStats, "The $indexStats stage specification must be an empty object")
	}
	return []stage{&diagnostics{"$indexStats", bsonx.Empty}}, nil
}
