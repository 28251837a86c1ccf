package command

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/session"
)

// Target returns what the command works on, for currentOp and logs: a database and a collection of
// it, or "$cmd". Where the command names a whole namespace, the database is empty.
func (r *Request) Target() (db string, collection []byte) {
	v := r.CommandValue()
	if r.Def.Name == "getMore" {
		v = r.Get("collection")
	}
	switch {
	case v.Type != bsonx.TypeString:
		return r.DB, cmdCollection
	case r.Def.AdminOnly:
		return "", v.StrBytes()
	default:
		return r.DB, v.StrBytes()
	}
}

var cmdCollection = []byte("$cmd")

// Namespace is target as one text. A bulkWrite has its only namespace, or the one of its cursor.
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

// Namespaces are those of a bulkWrite, each once.
func (r *Request) Namespaces() []string {
	var out []string
	for i := range r.Spaces {
		if ns := r.Spaces[i].DB + "." + r.Spaces[i].Name; !slices.Contains(out, ns) {
			out = append(out, ns)
		}
	}
	return out
}
