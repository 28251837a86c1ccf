package read

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

// A find, count or distinct on a view becomes a pipeline behind the view's own.

// IsView reports whether c, which may be nil, is a view, as time-series collections are.
func IsView(c *table.Collection) bool { return c != nil && c.Kind != catalog.KindCollection }

// IsVirtual reports whether the documents of c, which may be nil, are made when they are read.
func IsVirtual(c *table.Collection) bool { return c != nil && c.Kind == catalog.KindVirtual }

// AppendStage adds a stage whose argument is not empty.
func AppendStage(stages []bsonx.Value, name string, arg bsonx.Doc) []bsonx.Value {
	if arg.IsEmpty() {
		return stages
	}
	return append(stages, bsonx.Document(bsonx.NewDoc(name, arg)))
}

// CountGroup is the $group that counts documents.
var CountGroup = bsonx.NewDoc("_id", bsonx.Null, "n", bsonx.NewDoc("$sum", 1))

// checkVirtualHint accepts the order of a virtual collection's documents: by _id.
func checkVirtualHint(hint bsonx.Value) error {
	switch {
	case hint.IsMissing(), hint.Type == bsonx.TypeString && hint.Str() == "_id_":
		return nil
	case hint.Type == bsonx.TypeDocument:
		if first := hint.Doc().First(); first.Key == nil || string(first.Key) == "_id" || string(first.Key) == "$natural" {
			return nil
		}
	}
	return mongoerr.New(mongoerr.BadValue, "hint provided does not correspond to an existing index")
}
