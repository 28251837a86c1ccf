package ddl

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/read"
)

// createCollation returns the collation argument of create, completed with defaults. It returns a
// missing value if the argument is absent.
func createCollation(req *command.Request) (bsonx.Value, error) {
	v := req.Get("collation")
	if v.Type != bsonx.TypeDocument {
		return bsonx.Missing, nil
	}
	spec, err := collation.Complete(v.Doc(), "create.collation")
	return bsonx.Document(spec), err
}

// storedCollation returns the collation argument of create in the form that the catalog stores; see
// read.NormalizedCollation.
func storedCollation(req *command.Request) (bsonx.Value, error) {
	v, err := createCollation(req)
	if err != nil {
		return bsonx.Missing, err
	}
	return read.NormalizedCollation(v)
}
