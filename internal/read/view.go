package read

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

// A find, count or distinct on a view becomes a pipeline after the view's pipeline.

// IsView reports whether c, which may be nil, is not an ordinary collection: a view, a time-series
// collection or a virtual collection.
func IsView(c *table.Collection) bool { return c != nil && c.Kind != catalog.KindCollection }

// IsVirtual reports whether c, which may be nil, is a collection whose documents are computed when
// they are read.
func IsVirtual(c *table.Collection) bool { return c != nil && c.Kind == catalog.KindVirtual }

// AppendStage appends a stage, unless its argument is empty.
func AppendStage(stages []bsonx.Value, name string, arg bsonx.Doc) []bsonx.Value {
	if arg.IsEmpty() {
		return stages
	}
	return append(stages, bsonx.Document(bsonx.NewDoc(name, arg)))
}

// CountGroup is the $group that counts documents.
var CountGroup = bsonx.NewDoc("_id", bsonx.Null, "n", bsonx.NewDoc("$sum", 1))

// checkVirtualHint fails unless the hint is missing, or names the order by _id or $natural.
func checkVirtualHint(hint bsonx.Value) error {
	switch {
	case hint.IsMissing(), hint.Type == bsonx.TypeString && hint.Str() == "_id_":
		return nil
	case hint.Type == bsonx.TypeDocument:
		if first := hint.Doc().First(); first.Key == nil || string(first.Key) == "_id" ||
			string(first.Key) == "$natural" {
			return nil
		}
	}
	return mongoerr.New(mongoerr.BadValue, "hint provided does not correspond to an existing index")
}
