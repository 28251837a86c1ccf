package update

import "github.com/sheafdb/sheaf/internal/bsonx"

// shell is a value as MongoDB's error texts show it.
func shell(v bsonx.Value) string { return v.Type.String() }

// idText is a document's _id as error texts name the document.
func idText(doc bsonx.Doc) string { return "{_id: " + shell(doc.Lookup("_id")) + "}" }
