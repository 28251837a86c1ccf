package document

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
)

// SetPath returns doc with v at a path of nested documents. If v is missing, the field is removed.
// A value on the path that is not a document is replaced by a document.
func SetPath(doc bsonx.Doc, path []string, v bsonx.Value) bsonx.Doc {
	b := bsonx.NewBuilder(make([]byte, 0, len(doc)+16))
	b.StartDoc()
	found := false
	for it := doc.Iter(); it.Next(); {
		if string(it.Key()) != path[0] {
			b.ValueBytes(it.Key(), it.Value())
			continue
		}
		found = true
		b.Value(path[0], childValue(it.Value(), path[1:], v))
	}
	if !found {
		b.Value(path[0], childValue(bsonx.Missing, path[1:], v))
	}
	b.End()
	return b.Bytes()
}

func childValue(old bsonx.Value, path []string, v bsonx.Value) bsonx.Value {
	if len(path) == 0 {
		return v
	}
	if old.Type != bsonx.TypeDocument {
		if v.IsMissing() {
			return old
		}
		return bsonx.Document(SetPath(bsonx.Empty, path, v))
	}
	return bsonx.Document(SetPath(old.Doc(), path, v))
}
