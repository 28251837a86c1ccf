package update

import "github.com/sheafdb/sheaf/internal/bsonx"

// shell is a value as MongoDB's error texts show it.
func shell(v bsonx.Value) string { return bsonx.FormatShell(v) }

// idText names a document in an error text by its _id.
func idText(doc bsonx.Doc) string { return "{" + idElem(doc) + "}" }

// idElem is a document's _id as a field.
func idElem(doc bsonx.Doc) string { return "_id: " + shell(doc.Lookup("_id")) }
