package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
)

// UpdateSpec is a statement of update or bulkWrite that is parsed but not compiled.
type UpdateSpec struct {
	Query        bsonx.Doc
	Mods         bsonx.Value
	Constants    bsonx.Value
	ArrayFilters bsonx.Value
	Hint         bsonx.Value
	Collation    bsonx.Value
	Sort         bsonx.Doc
	Multi        bool
	Upsert       bool
	// Supplied is the field upsertSupplied: an upsert inserts the document in the field "new" of
	// Constants.
	Supplied bool
	// Position is the index of the statement in the command.
	Position int
}
