package index

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/keystring"
)

// These paths stand for metadata in a sort pattern: the score of a text search, the distance of a
// search by distance, and the random value of a sample. No index has them.
const (
	ScorePath    = "$textScore"
	DistancePath = "$geoNearDistance"
	RandomPath   = "$randVal"
)

// IsMeta reports whether a field of a sort pattern is metadata.
func (f Field) IsMeta() bool {
	return f.Path == ScorePath || f.Path == DistancePath || f.Path == RandomPath
}

// HasMeta reports whether a sort pattern sorts by metadata.
func (p Pattern) HasMeta() bool { return slices.ContainsFunc(p, Field.IsMeta) }

// SortMeta is the metadata of a document that a sort can use. A value that the document lacks is
// null.
type SortMeta struct{ Score, Distance, Random bsonx.Value }

// MetaSortGen makes sort keys for a pattern with metadata. Metadata sorts from high to low. Only
// one goroutine at a time may use it.
type MetaSortGen struct{ parts []metaSortPart }

// metaSortPart is one metadata field, or a run of document fields between metadata fields.
type metaSortPart struct {
	meta string // a metadata path, or "" for document fields
	gen  *SortKeyGen
}

// NewMetaSortGen returns the generator of a sort pattern.
func NewMetaSortGen(p Pattern, c *collation.Collator) *MetaSortGen {
	g := &MetaSortGen{}
	for len(p) > 0 {
		n := slices.IndexFunc(p, Field.IsMeta)
		switch n {
		case 0:
			g.parts, p = append(g.parts, metaSortPart{meta: p[0].Path}), p[1:]
			continue
		case -1:
			n = len(p)
		}
		g.parts, p = append(g.parts, metaSortPart{gen: NewSortKeyGen(p[:n], c)}), p[n:]
	}
	return g
}

func (m *SortMeta) at(path string) bsonx.Value {
	switch path {
	case DistancePath:
		return m.Distance
	case RandomPath:
		return m.Random
	default:
		return m.Score
	}
}

// Append appends the sort key of a document with its metadata. A document without the metadata
// sorts last. It fails in the same cases as SortKeyGen.Append.
func (g *MetaSortGen) Append(dst []byte, doc bsonx.Doc, m SortMeta) (_ []byte, err error) {
	for _, part := range g.parts {
		if part.gen == nil {
			dst = keystring.Append(dst, m.at(part.meta), true)
		} else if dst, err = part.gen.Append(dst, doc); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// Values returns the values that a document sorts by, as SortKeyGen.Values does.
func (g *MetaSortGen) Values(doc bsonx.Doc, m SortMeta) ([]bsonx.Value, error) {
	var out []bsonx.Value
	for _, part := range g.parts {
		if part.gen == nil {
			out = append(out, m.at(part.meta))
			continue
		}
		values, err := part.gen.Values(doc)
		if err != nil {
			return nil, err
		}
		out = append(out, values...)
	}
	return out, nil
}
