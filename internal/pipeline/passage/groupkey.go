package passage

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// OfKey returns the Func of a stage that groups by the expression id. Comparisons with the
// group key, or a field of it, can move: they hold for all documents of a group or for none.
func OfKey(id bsonx.Value) Func {
	names := keyFields(id)
	return func(path string, p *Predicate) (string, bool) {
		if !p.Compares || p.CanFail {
			return "", false
		}
		for name, from := range names {
			if isBelow(path, name) {
				return from + path[len(name):], true
			}
		}
		return "", false
	}
}

// keyFields returns the paths of the group key that copy a field, with the field that they copy.
func keyFields(id bsonx.Value) map[string]string {
	names := map[string]string{}
	if from, ok := copiedField(id); ok {
		names["_id"] = from
	}
	if id.Type != bsonx.TypeDocument || strings.HasPrefix(string(id.Doc().First().Key), "$") {
		return names
	}
	for it := id.Doc().Iter(); it.Next(); {
		if from, ok := copiedField(it.Value()); ok {
			names["_id."+string(it.Key())] = from
		}
	}
	return names
}
