package update

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// ModificationKind is the kind of a change at one path.
type ModificationKind int

// Values of ModificationKind.
const (
	// Updated means that the path has the value now, whether or not it existed before.
	Updated ModificationKind = iota
	Removed                  // the field was removed
	// Appended means that the elements of the array Value were appended to the array at the path.
	Appended
)

// Modification is one change made by an operator document. Modifications are recorded in the order
// of application, for the update descriptions of the oplog and of change streams. The value is
// valid only during the call.
type Modification struct {
	Kind  ModificationKind
	Path  string // a path with array indexes and without positional operators
	Value bsonx.Value
}

// record reports a change at the current path.
func (a *applier) record(kind ModificationKind, v bsonx.Value) {
	if a.env.Record != nil {
		a.env.Record(Modification{kind, strings.Join(a.path, "."), v})
	}
}
