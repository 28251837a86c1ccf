package index

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
)

// Kind says what a field of an index holds.
type Kind int8

// The kinds of fields that other packages know. A type of index without special rules has no
// constant: its kind is its position in the table of definitions. The zero value, Ordered, is for a
// field that holds the values at its path in their order.
const (
	// Ordered fields hold the values at a path, ascending or descending.
	Ordered Kind = iota
	// Hashed fields hold the hash of the value at a path.
	Hashed
	// Wildcard fields hold the values at all paths below a path, or at the paths that a projection
	// selects. The field before it holds the path.
	Wildcard
	// Text fields are all fields of a text index: the words, their scores, and the fields beside
	// the text.
	Text
	// Plane fields hold cells of a plane ("2d").
	Plane
	// Sphere fields hold cells of a sphere ("2dsphere").
	Sphere
)

// FieldKind returns the kind of a field of a key pattern. The pattern was validated when the index
// was created.
func FieldKind(path string, v bsonx.Value) Kind {
	if v.Type == bsonx.TypeString {
		return max(kindNamed(v.Str()), Ordered)
	}
	if path == "$**" || strings.HasSuffix(path, ".$**") {
		return Wildcard
	}
	return Ordered
}

// KindOf returns the kind of an index: the kind of its first field that is not Ordered, or Ordered.
func KindOf(key bsonx.Doc) Kind {
	for it := key.Iter(); it.Next(); {
		if k := FieldKind(string(it.Key()), it.Value()); k != Ordered {
			return k
		}
	}
	return Ordered
}

// Spec is the catalog's description of an index.
type Spec struct {
	// Key is the key pattern.
	Key    bsonx.Doc
	Sparse bool
	// Collation turns strings into their collation keys. A nil Collation leaves them unchanged.
	Collation *collation.Collator
	// Options is the whole specification as in listIndexes, with fields such as weights, bits and
	// wildcardProjection.
	Options bsonx.Doc
}

// Generator generates the keys of documents in an index. It is immutable and safe for concurrent
// use. Keys holds the changing state.
type Generator interface {
	// Generate adds the keys of doc to out: sorted, without duplicates, and with the multikey
	// paths. The caller has reset out.
	Generate(doc bsonx.Doc, out *Keys) error
}

// fieldsOf returns the fields of a key pattern unchanged.
func fieldsOf(key bsonx.Doc) Pattern {
	var p Pattern
	for it := key.Iter(); it.Next(); {
		path, v := string(it.Key()), it.Value()
		f, _ := v.AsFloat64()
		p = append(p, Field{Path: path, Desc: f < 0, Kind: FieldKind(path, v)})
	}
	return p
}
