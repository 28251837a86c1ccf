package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
)

// show prints a document for an error message.
func show(d bsonx.Doc) string { return "{…}" }

func showValue(v bsonx.Value) string { return v.Type.String() }
