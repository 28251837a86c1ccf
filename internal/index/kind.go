package index

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
)

// Kind is what a field of an index holds.
type Kind uint8

// The kinds of fields. The zero value is that of a field that holds the values at its path in their
// order.
const (
	// Ordered fields hold the values at a path, ascending or descending.
	Ordered Kind = iota
	// Hashed fields hold the hash of the value at a path.
	Hashed
	// Wildcard fields hold the values at all paths below one, or at those that a projection leaves.
	// The field before it holds the path.
	Wildcard
	// Text fields hold the words of strings, and what weight they have.
	Text
	// Plane fields hold cells of a plane ("2d").
	Plane
	// Sphere fields hold cells of a sphere ("2dsphere").
	Sphere
	kinds
)

// kindNames are the values that key patterns have for the kinds that are named by a string.
var kindNames = [kinds]string{Hashed: "hashed", Text: "text", Plane: "2d", Sphere: "2dsphere"}

// FieldKind returns the kind of a field of a key pattern that was checked when the index was
// created.
func FieldKind(path string, v bsonx.Value) Kind {
	if v.Type == bsonx.TypeString {
		return Kind(max(slices.Index(kindNames[:], v.Str()), 0))
	}
	if path == "$**" || strings.HasSuffix(path, ".$**") {
		return Wildcard
	}
	return Ordered
}

// KindOf returns the kind of an index: that of its only fields that are not Ordered.
func KindOf(key bsonx.Doc) Kind {
	for it := key.Iter(); it.Next(); {
		if k := FieldKind(string(it.Key()), it.Value()); k != Ordered {
			return k
		}
	}
	return Ordered
}

// Spec is an index as the catalog describes it.
type Spec struct {
	// Key is the key pattern.
	Key    bsonx.Doc
	Sparse bool
	// Collation turns strings into their keys; nil leaves them as they are.
	Collation *collation.Collator
	// Options is the whole specification as listIndexes shows it: with weights, bits,
	// wildcardProjection and the like.
	Options bsonx.Doc
}

// Generator generates the keys that documents have in an index. It is immutable and safe for
// concurrent use; what changes is in Keys.
type Generator interface {
	// Generate adds the keys of doc to out, which was reset: sorted, without duplicates, and with
	// the multikey paths.
	Generate(doc bsonx.Doc, out *Keys) error
}

// compilers make the generators of the kinds of index.
var compilers = [kinds]func(Spec) (Pattern, Generator, error){
	Ordered:  compileOrdered,
	Hashed:   compileHashed,
	Wildcard: compileWildcard,
	Text:     compileText,
	Plane:    compilePlane,
	Sphere:   compileSphere,
}

// Kinds returns the kinds of index as users know them.
func Kinds() []string {
	out := kindNames
	out[Ordered], out[Wildcard] = "ascending and descending", "wildcard ($**)"
	return out[:]
}

// Compile returns the generator of an index and the fields that its keys consist of, each of them
// one value: those of the key pattern, or what the kind of index makes of them.
func Compile(s Spec) (Pattern, Generator, error) { return compilers[KindOf(s.Key)](s) }

func compileOrdered(s Spec) (Pattern, Generator, error) {
	p := fieldsOf(s.Key)
	return p, NewKeyGen(p, s.Sparse, s.Collation), nil
}

// fieldsOf returns the fields of a key pattern as they stand in it.
func fieldsOf(key bsonx.Doc) Pattern {
	var p Pattern
	for it := key.Iter(); it.Next(); {
		path, v := string(it.Key()), it.Value()
		f, _ := v.AsFloat64()
		p = append(p, Field{Path: path, Desc: f < 0, Kind: FieldKind(path, v)})
	}
	return p
}
