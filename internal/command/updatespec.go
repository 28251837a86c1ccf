package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
)

// updateSpec is one parsed, not yet compiled statement of update or bulkWrite.
type updateSpec struct {
	query        bsonx.Doc
	mods         bsonx.Value
	constants    bsonx.Value
	arrayFilters bsonx.Value
	hint         bsonx.Value
	collation    bsonx.Value
	sort         bsonx.Doc
	multi        bool
	upsert       bool
	// supplied says that an upsert inserts the document "new" of the constants.
	supplied bool
	// position is that of the statement in the command.
	position int
}
