package update

import "github.com/sheafdb/sheaf/internal/bsonx"

// shell formats a value as in MongoDB's error messages.
func shell(v bsonx.Value) string { return bsonx.FormatShell(v) }

// idText identifies a document in an error message by its _id.
func idText(doc bsonx.Doc) string { return "{" + idElem(doc) + "}" }

// idElem returns a document's _id as the text of a field.
func idElem(doc bsonx.Doc) string { return "_id: " + shell(doc.Lookup("_id")) }
