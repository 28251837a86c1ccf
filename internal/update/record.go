package update

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// ModificationKind is the kind of a change at one path.
type ModificationKind int

// The kinds of modifications.
const (
	Updated  ModificationKind = iota // the path has that value now, whether it existed or not
	Removed                          // the field is gone
	Appended                         // these elements, given as an array, were appended to the array at the path
)

// Modification is one change made by an operator document. Modifications are recorded in the order
// of application, for the update descriptions of the oplog and of change streams. The value is
// valid only during the call.
type Modification struct {
	Kind  ModificationKind
	Path  string // with array indexes
	Value bsonx.Value
}

// record reports a change at the current path.
func (a *applier) record(kind ModificationKind, v bsonx.Value) {
	if a.env.Record != nil {
		a.env.Record(Modification{kind, strings.Join(a.path, "."), v})
	}
}
