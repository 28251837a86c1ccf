package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// parseText answers as MongoDB does for a collection without a text index, which is every collection as long as text
// indexes cannot be made.
func parseText(p *parser, _ string, v bsonx.Value, level level, _ int) (Node, error) {
	if level == levelElem {
		return nil, mongoerr.New(mongoerr.BadValue, "$text can only be applied to the top-level document")
	}
	if !p.opts.AllowText {
		return nil, mongoerr.New(mongoerr.BadValue, "$text is not allowed in this context")
	}
	if v.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.BadValue, "$text expects an object")
	}
	switch search := v.Doc().Lookup("$search"); search.Type {
	case bsonx.TypeString:
	case bsonx.TypeMissing:
		return nil, mongoerr.New(mongoerr.NoSuchKey, "Missing expected field \"$search\"")
	default:
		return nil, mongoerr.New(mongoerr.TypeMismatch, "\"$search\" had the wrong type. Expected string, found %s", search.Type)
	}
	return nil, mongoerr.New(mongoerr.IndexNotFound, "text index required for $text query")
}
