package update

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// ModificationKind says what an update did at one path.
type ModificationKind int

// The kinds of modifications.
const (
	Updated  ModificationKind = iota // the path has that value now, whether it existed or not
	Removed                          // the field is gone
	Appended                         // the array at the path got these elements, given as an array, at its end
)

// Modification is one change that an operator document made, in the order of application. It is
// what descriptions of the update in the oplog and in change streams are made of. Its value is
// valid during the call only.
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
