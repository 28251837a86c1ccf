package index

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// SortKeyGen makes the sort keys of documents: byte strings whose order is the order of the documents by a sort
// pattern. A document sorts by the first of the keys that it would have in an index of that pattern: by the least
// element of an array where the direction is ascending, by the greatest where it is descending. It is used by one
// goroutine at a time.
type SortKeyGen struct {
	gen  *KeyGen
	keys Keys
}

// NewSortKeyGen returns the generator of a sort pattern.
func NewSortKeyGen(p Pattern) *SortKeyGen { return &SortKeyGen{gen: NewKeyGen(p, false)} }

// Append appends the sort key of doc. It fails with BadValue where two fields of the pattern lead through different
// arrays.
func (g *SortKeyGen) Append(dst []byte, doc bsonx.Doc) ([]byte, error) {
	g.keys.Reset()
	err := g.gen.Generate(doc, &g.keys)
	if mongoerr.CodeOf(err) == mongoerr.CannotIndexParallelArrays {
		return dst, mongoerr.New(mongoerr.BadValue, "cannot sort with keys that are parallel arrays")
	}
	if err != nil {
		return dst, err
	}
	return append(dst, g.keys.Key(0)...), nil
}
