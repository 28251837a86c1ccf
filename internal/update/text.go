package update

import "github.com/sheafdb/sheaf/internal/bsonx"

// shell formats a value like MongoDB's error messages.
func shell(v bsonx.Value) string { return bsonx.FormatShell(v) }

// idText returns {_id: …}, with which error messages identify a document.
func idText(doc bsonx.Doc) string { return "{" + idElem(doc) + "}" }

// idElem returns the _id field of doc as text.
func idElem(doc bsonx.Doc) string { return "_id: " + shell(doc.Lookup("_id")) }
