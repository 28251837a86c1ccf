package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
)

// JSONSchema is $jsonSchema: a document obeys a schema.
type JSONSchema struct {
	// Spec is the schema as it was written.
	Spec bsonx.Doc
}

// Kind returns KindJSONSchema.
func (*JSONSchema) Kind() Kind { return KindJSONSchema }

func (n *JSONSchema) matchDoc(bsonx.Doc, *state) bool { return true }

func (n *JSONSchema) matchElem(v bsonx.Value, _ *state) bool { return true }

func (n *JSONSchema) serialize(b *bsonx.Builder) { b.Doc("$jsonSchema", n.Spec) }

func parseJSONSchema(p *parser, _ string, v bsonx.Value, _ level, _ int) (Node, error) {
	return nil, errNotImplemented("$jsonSchema")
}
