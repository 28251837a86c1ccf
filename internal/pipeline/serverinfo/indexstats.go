package serverinfo

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// ParseIndexStats compiles $indexStats, which tells how often each index was used.
func ParseIndexStats(arg bsonx.Value, _ parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument || !arg.Doc().IsEmpty() {
		return nil, mongoerr.New(codeIndexStats, "The $indexStats stage specification must be an empty object")
	}
	return []parsing.Stage{&Stage{"$indexStats", bsonx.Empty}}, nil
}
