package command

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/session"
)

// Target returns the namespace of the command for currentOp and logs. collection is "$cmd" if the
// command has no collection. db is empty if collection is a whole namespace.
func (r *Request) Target() (db string, collection []byte) {
	v := r.CommandValue()
	if r.Def.CollectionField != "" {
		v = r.Get(r.Def.CollectionField)
	}
	switch {
	case v.Type != bsonx.TypeString:
		return r.DB, cmdCollection
	case r.Def.AdminOnly == feature.Yes:
		return "", v.StrBytes()
	default:
		return r.DB, v.StrBytes()
	}
}

var cmdCollection = []byte("$cmd")

// Namespace returns the namespace of Target as one text. For a bulkWrite it is the only namespace
// that it writes to, or the namespace of its cursor.
func (r *Request) Namespace() string {
	switch spaces := r.Namespaces(); len(spaces) {
	case 0:
	case 1:
		return spaces[0]
	default:
		return r.DB + "." + BulkWriteCursor
	}
	var info session.OpInfo
	info.DB, info.Collection = r.Target()
	return info.Namespace()
}

// Namespaces returns the namespaces of a bulkWrite without duplicates.
func (r *Request) Namespaces() []string {
	var out []string
	for i := range r.Spaces {
		if ns := r.Spaces[i].DB + "." + r.Spaces[i].Name; !slices.Contains(out, ns) {
			out = append(out, ns)
		}
	}
	return out
}
