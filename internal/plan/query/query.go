package query

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/projection"
	"github.com/sheafdb/sheaf/internal/table"
)

// Query is what find, count, distinct, update, delete and findAndModify ask of a collection. The
// planner does not change it.
type Query struct {
	Timed bool // operators measure their time, for explain

	// DB and Name are the namespace, for explain.
	DB, Name string
	// Coll is nil where the collection does not exist: the query then has no result.
	Coll *table.Collection
	// Filter is nil for a query that matches everything.
	Filter *filter.Filter
	// Collation compares strings, those of Filter too; nil compares bytes.
	Collation *collation.Collator
	// CollationSpec is the collation as messages show it; empty where the query gives none.
	CollationSpec bsonx.Doc
	// Sort is the sort pattern or empty. {$natural: ±1} asks for the order of the records.
	Sort bsonx.Doc
	// Projection is nil for whole documents.
	Projection *projection.Projection
	// ProjectionSpec is what Projection was parsed from, for explain.
	ProjectionSpec bsonx.Doc
	// OptionalProjection says that Projection only tells which fields will be read: it is applied
	// where an index covers it or less is sorted.
	OptionalProjection bool
	// OneOf is a field: of the rows that have the same value there only the first in the order of
	// Sort is read, or with LastOf the last, and the plan may leave out others. Empty where all
	// rows are read.
	OneOf  string
	LastOf bool
	// Located shapes the documents that a filter sorts by distance ($geoNear); nil leaves them as
	// they are.
	Located exec.Locator
	// Multiplier is what the distances of a $geoNear are shown and sorted by: a factor.
	Multiplier float64
	// Skip and Limit; a Limit of 0 is none.
	Skip, Limit int64
	// Hint is an index name, a key pattern, {$natural: ±1}, an empty document or missing (none).
	Hint bsonx.Value
	// Min and Max bound a hinted index scan, [Min, Max).
	Min, Max bsonx.Doc

	// Scores says that the scores of a text search are wanted, even where neither Sort nor
	// Projection names them.
	Scores bool
	// IndexKeys says that the index keys of the rows are wanted, even where Projection does not
	// name them.
	IndexKeys bool
	// RowMeta are further kinds of metadata of the rows that are wanted, of which the caller makes
	// the values: the rows are whole documents.
	RowMeta RowMeta

	ReturnKey    bool
	ShowRecordID bool
	// Tailable keeps the scan of a capped collection open at its end.
	Tailable bool
	// AllowDiskUse lets a sort spill to disk.
	AllowDiskUse bool
}

// Namespace returns "db.collection".
func (q *Query) Namespace() string { return q.DB + "." + q.Name }

// ShownProjection returns the projection as explain shows it: {} for none.
func (q *Query) ShownProjection() bsonx.Doc {
	if q.ProjectionSpec == nil {
		return bsonx.Empty
	}
	return q.ProjectionSpec
}

// Shown returns the parts of the query that its shape is made of.
func (q *Query) Shown() bsonx.Doc {
	filter, sort := bsonx.Empty, bsonx.Empty
	if q.Filter != nil {
		filter = q.Filter.Spec()
	}
	if q.Sort != nil {
		sort = q.Sort
	}
	return bsonx.NewDoc("query", filter, "sort", sort, "projection", q.ShownProjection())
}

// PointID returns the _id of a query that is an equality on it and nothing else that planning would
// have to see.
func (q *Query) PointID() (bsonx.Value, bool) {
	if q.Filter == nil || !q.Hint.IsMissing() || q.Min != nil || q.Max != nil || q.ReturnKey || q.Skip > 0 ||
		q.ShowRecordID || q.Tailable || q.Coll != nil && (q.Coll.Oplog || !q.Collation.Same(q.Coll.Collation)) {
		return bsonx.Value{}, false
	}
	c, ok := q.Filter.Root.(*filter.Compare)
	if !ok || c.Op != filter.Eq || c.Path != "_id" {
		return bsonx.Value{}, false
	}
	switch c.Value.Type {
	case bsonx.TypeArray, bsonx.TypeRegex, bsonx.TypeNull:
		return bsonx.Value{}, false
	default:
		return c.Value, isPlainSort(q.Sort)
	}
}

// isPlainSort reports whether a sort needs no check: one record needs no sorting, but a bad sort is
// an error all the same.
func isPlainSort(sort bsonx.Doc) bool {
	for it := sort.Iter(); it.Next(); {
		if !it.Value().Type.IsNumber() || string(it.Key()) == "$natural" {
			return false
		}
	}
	return true
}

// MatchesAll reports whether every document matches.
func (q *Query) MatchesAll() bool {
	return q.Filter == nil || IsTrue(q.Filter.Normalize().Root)
}

// IsTrue reports whether every document matches a predicate.
func IsTrue(n filter.Node) bool {
	if and, ok := n.(*filter.And); ok {
		return len(and.Children) == 0
	}
	_, ok := n.(*filter.AlwaysTrue)
	return ok
}
