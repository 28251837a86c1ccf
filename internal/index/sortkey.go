package index

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// SortKeyGen makes the sort keys of documents: byte strings whose order is the order of the
// documents by a sort pattern. A document sorts by the first key that it would have in an index of
// that pattern. For an array this is the least element if the direction is ascending, and the
// greatest if it is descending. Only one goroutine at a time may use it.
type SortKeyGen struct {
	gen  *KeyGen
	keys Keys
}

// NewSortKeyGen returns the generator of a sort pattern.
func NewSortKeyGen(p Pattern, c *collation.Collator) *SortKeyGen {
	return &SortKeyGen{gen: NewKeyGen(p, false, c)}
}

// Append appends the sort key of doc. It fails with BadValue if two fields of the pattern lead
// through different arrays.
func (g *SortKeyGen) Append(dst []byte, doc bsonx.Doc) ([]byte, error) {
	if err := g.generate(doc); err != nil {
		return dst, err
	}
	key := g.keys.Key(0)
	if len(dst) == 0 && g.keys.Size() > largeKeys {
		dst = key[:len(key):len(key)] // takes over the buffer of the keys
	} else {
		dst = append(dst, key...)
	}
	g.keys.drop()
	return dst, nil
}

// KeyRoom estimates how much memory, in bytes, making the sort key of doc takes at most.
func (p Pattern) KeyRoom(doc bsonx.Doc) int {
	room := 0
	for _, f := range p {
		name, _, _ := strings.Cut(f.Path, ".")
		v := doc.Lookup(name)
		switch v.Type {
		case bsonx.TypeArray, bsonx.TypeDocument:
			room += elementRoom * len(v.Data)
		default:
			room += valueRoom * len(v.Data)
		}
	}
	return room
}

const (
	// valueRoom is the memory per byte of a value: its key, the copy for the sort, and the copy in
	// the entry of the sort.
	valueRoom = 3
	// elementRoom is the memory per byte of an array: the keys of all elements are made, and the
	// sort takes one of them.
	elementRoom = 6
)

// Values returns the values by which doc sorts, one for each field of the pattern. With a
// collation, a string is returned as its collation key.
func (g *SortKeyGen) Values(doc bsonx.Doc) ([]bsonx.Value, error) {
	if err := g.generate(doc); err != nil {
		return nil, err
	}
	bits := keystring.NewTypeBitsReader(g.keys.TypeBits(0))
	rest := g.keys.Key(0)
	values := make([]bsonx.Value, 0, len(g.gen.fields))
	for _, f := range g.gen.fields {
		v, n, _, err := keystring.Decode(nil, rest, f.desc, &bits)
		if err != nil {
			return nil, err
		}
		if g.gen.collation != nil {
			v = collation.Display(v)
		}
		values, rest = append(values, v), rest[n:]
	}
	return values, nil
}

func (g *SortKeyGen) generate(doc bsonx.Doc) error {
	g.keys.Reset()
	err := g.gen.Generate(doc, &g.keys)
	if mongoerr.CodeOf(err) == mongoerr.CannotIndexParallelArrays {
		return mongoerr.New(mongoerr.BadValue, "cannot sort with keys that are parallel arrays")
	}
	return err
}
