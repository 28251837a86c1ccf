package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// parseText answers as MongoDB does for a collection without a text index, which is every collection as long as text
// indexes cannot be made.
func parseText(p *parser, _ string, v bsonx.Value, level level, _ int) (Node, error) {
	if level == levelElem || !p.opts.AllowText {
		return nil, mongoerr.New(mongoerr.BadValue, "$text is not allowed in this context")
	}
	if v.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.BadValue, "$text expects an object")
	}
	if search := v.Doc().Lookup("$search"); search.Type != bsonx.TypeString {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "$search requires a string value")
	}
	return nil, mongoerr.New(mongoerr.IndexNotFound, "text index required for $text query")
}
