package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
)

// UpdateSpec is one parsed, not yet compiled statement of update or bulkWrite.
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
	// Supplied says that an upsert inserts the document "new" of the constants.
	Supplied bool
	// Position is that of the statement in the command.
	Position int
}
