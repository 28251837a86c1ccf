package query

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/index"
)

// Names of the metadata of a text search and of a search by distance.
const (
	// MetaTextScore is the name of the score of a text search in a $meta.
	MetaTextScore = "textScore"
	metaDistance  = "geoNearDistance"
	metaPoint     = "geoNearPoint"
)

// MetaPath returns the path that stands for the metadata that a value of a sort pattern names. It
// returns "" if the value is a direction.
func MetaPath(v bsonx.Value) string {
	if v.Type != bsonx.TypeDocument {
		return ""
	}
	kind := v.Doc().Lookup("$meta")
	if kind.Type != bsonx.TypeString {
		return ""
	}
	return expr.Metadata(kind.Str()).SortPath
}

// WantsPlace reports whether the query sorts by, or projects, the distances or points of a search
// by distance.
func (q *Query) WantsPlace() bool {
	for it := q.Sort.Iter(); it.Next(); {
		if MetaPath(it.Value()) == index.DistancePath {
			return true
		}
	}
	if q.Projection == nil {
		return false
	}
	kinds := q.Projection.MetaKinds()
	return slices.Contains(kinds, metaDistance) || slices.Contains(kinds, metaPoint)
}

// hasMeta reports whether a sort pattern names metadata.
func hasMeta(sort bsonx.Doc) bool {
	for it := sort.Iter(); it.Next(); {
		if MetaPath(it.Value()) != "" {
			return true
		}
	}
	return false
}

// SortKey returns a function that builds the sort keys of rows. The pattern must have been checked.
func SortKey(sort bsonx.Doc, c *collation.Collator) exec.KeyFunc {
	pattern := SortPattern(sort)
	if !pattern.HasMeta() {
		return exec.DocumentKey(pattern, c)
	}
	gen := index.NewMetaSortGen(pattern, c)
	return func(dst []byte, row *exec.Row) ([]byte, error) { return gen.Append(dst, row.Doc, metaOf(row)) }
}

// metaOf returns the metadata by which a row is sorted. Metadata that the row does not have is
// null, which sorts last.
func metaOf(row *exec.Row) index.SortMeta {
	m := index.SortMeta{Score: bsonx.Null, Distance: bsonx.Null, Random: bsonx.Null}
	if row.Scored {
		m.Score = bsonx.Double(row.Score)
	}
	if row.Located {
		m.Distance = bsonx.Double(row.Distance)
	}
	return m
}

// ShownPattern returns a sort pattern as explain prints it: metadata has no path.
func ShownPattern(sort bsonx.Doc) bsonx.Doc {
	if !hasMeta(sort) {
		return sort
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for i, it := 0, sort.Iter(); it.Next(); i++ {
		if MetaPath(it.Value()) != "" {
			b.Value("$computed"+bsonx.IndexKey(i), it.Value())
		} else {
			b.ValueBytes(it.Key(), it.Value())
		}
	}
	b.End()
	return b.Bytes()
}
