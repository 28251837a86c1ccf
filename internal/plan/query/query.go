package query

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/projection"
	"github.com/sheafdb/sheaf/internal/table"
)

// Query is the request of a find, count, distinct, update, delete or findAndModify to a collection.
// The planner does not change it.
type Query struct {
	Timed bool // operators measure their time, for explain

	// DB and Name are the namespace, for explain.
	DB, Name string
	// Coll is nil if the collection does not exist. Then the query has no result.
	Coll *table.Collection
	// Filter is nil if the query matches everything.
	Filter *filter.Filter
	// Collation is the collation of all string comparisons, including those in Filter; nil compares
	// strings by their bytes.
	Collation *collation.Collator
	// CollationSpec is the collation as messages show it; empty if the query does not specify one.
	CollationSpec bsonx.Doc
	// Sort is the sort pattern; empty means no sort. {$natural: ±1} requests the order of the
	// records.
	Sort bsonx.Doc
	// Projection is nil for whole documents.
	Projection *projection.Projection
	// ProjectionSpec is the document that Projection was parsed from, for explain.
	ProjectionSpec bsonx.Doc
	// OptionalProjection says that Projection only lists the fields that will be read. It is
	// applied only if an index covers it or if it reduces the data of a sort.
	OptionalProjection bool
	// OneOf is a field. If it is set, the caller reads only one row for each value of the field:
	// the first in the order of Sort, or the last if LastOf is set. The plan may leave out other
	// rows.
	OneOf  string
	LastOf bool
	// Located shapes the documents of a search by distance ($geoNear); nil leaves them unchanged.
	Located exec.Locator
	// Multiplier is the factor by which the distances of a $geoNear are multiplied.
	Multiplier float64
	// Skip and Limit are numbers of rows; a Limit of 0 means no limit.
	Skip, Limit int64
	// Hint is an index name, a key pattern or {$natural: ±1}; empty or missing means no hint.
	Hint bsonx.Value
	// Min and Max bound a hinted index scan, [Min, Max).
	Min, Max bsonx.Doc

	// Scores says that the caller needs the scores of a text search, even if neither Sort nor
	// Projection uses them.
	Scores bool
	// IndexKeys says that the caller needs the index keys of the rows, even if Projection does not
	// use them.
	IndexKeys bool
	// RowMeta selects further metadata that the caller computes from the rows; the rows are then
	// whole documents.
	RowMeta RowMeta

	ReturnKey    bool
	ShowRecordID bool
	// Tailable keeps the scan of a capped collection open at its end.
	Tailable bool
	// AllowDiskUse allows a sort to spill to disk.
	AllowDiskUse bool
}

// Namespace returns "db.collection".
func (q *Query) Namespace() string { return q.DB + "." + q.Name }

// ShownProjection returns the projection as explain shows it: an empty document if there is no
// projection.
func (q *Query) ShownProjection() bsonx.Doc {
	if q.ProjectionSpec == nil {
		return bsonx.Empty
	}
	return q.ProjectionSpec
}

// Shown returns the parts of the query that determine its shape.
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

// PointID returns the _id of a query that is an equality on _id and has no option that planning
// would have to consider.
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

// isPlainSort reports whether a sort is certainly valid. One record needs no sorting, but an
// invalid sort is an error nevertheless.
func isPlainSort(sort bsonx.Doc) bool {
	for it := sort.Iter(); it.Next(); {
		if !it.Value().Type.IsNumber() || string(it.Key()) == "$natural" {
			return false
		}
	}
	return true
}

// MatchesAll reports whether the query matches every document.
func (q *Query) MatchesAll() bool {
	return q.Filter == nil || IsTrue(q.Filter.Normalize().Root)
}

// IsTrue reports whether a predicate matches every document.
func IsTrue(n filter.Node) bool {
	if and, ok := n.(*filter.And); ok {
		return len(and.Children) == 0
	}
	_, ok := n.(*filter.AlwaysTrue)
	return ok
}
