package query

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/projection"
)

const (
	metaIndexKey = "indexKey"
	// MetaSortKey is the name of a row's sort key in a $meta.
	MetaSortKey = "sortKey"
)

// ReadsIndexKey reports whether the query needs the index keys of its rows.
func (q *Query) ReadsIndexKey() bool {
	return q.IndexKeys || q.Projection != nil && slices.Contains(q.Projection.MetaKinds(), metaIndexKey)
}

// ReturnsSortKey reports whether sort keys are added to the index keys that returnKey returns.
func (q *Query) ReturnsSortKey() bool {
	return q.ReturnKey && q.Projection != nil && slices.Contains(q.Projection.MetaKinds(), MetaSortKey)
}

// CheckMeta fails if the projection or the sort needs metadata that the query does not produce:
// sort keys without a sort, scores without a text search, or distances without a search by
// distance.
func (q *Query) CheckMeta() error {
	if err := CheckSortMeta(q.Sort, q.Filter); err != nil {
		return err
	}
	if q.Projection == nil || len(q.Projection.MetaKinds()) == 0 {
		return nil
	}
	for _, kind := range q.Projection.MetaKinds() {
		if err := CheckMetaKind(q.Filter, kind); err != nil {
			return err
		}
	}
	if q.sorts() || !slices.Contains(q.Projection.MetaKinds(), MetaSortKey) {
		return nil
	}
	return errNoSortKey
}

// CheckSortMeta fails if a sort needs scores and the filter has no text search, or if it needs
// distances and the filter has no search by distance.
func CheckSortMeta(sort bsonx.Doc, f *filter.Filter) error {
	for it := sort.Iter(); it.Next(); {
		if MetaPath(it.Value()) == "" {
			continue
		}
		if err := CheckMetaKind(f, it.Value().Doc().First().Value.Str()); err != nil {
			return err
		}
	}
	return nil
}

// errNoSortKey is the error for a projection of sort keys without a sort.
var errNoSortKey = mongoerr.New(mongoerr.BadValue, "cannot use sortKey $meta projection without a sort")

// sorts reports whether the query has a sort that produces sort keys.
func (q *Query) sorts() bool { return !q.Sort.IsEmpty() && string(q.Sort.First().Key) != "$natural" }

// RowMeta selects metadata of rows.
type RowMeta struct{ SortKey, RecordID bool }

// RecordID returns the record id of a row.
func (q *Query) RecordID(row *exec.Row) (bsonx.Value, error) { return RecordIDOf(q.Coll, row) }

// SortKeys returns a function that reads the sort key of a row, which must be a whole document. The
// sort key is an array, which is empty without a sort. The sort key of a $geoNear is the distance.
func (q *Query) SortKeys() func(row *exec.Row) (bsonx.Value, error) {
	if q.Located != nil {
		return func(row *exec.Row) (bsonx.Value, error) {
			return bsonx.NewArray(bsonx.Double(row.Distance * q.Multiplier)), nil
		}
	}
	if !q.sorts() {
		none := bsonx.NewArray()
		return func(*exec.Row) (bsonx.Value, error) { return none, nil }
	}
	gen := index.NewMetaSortGen(SortPattern(q.Sort), q.Collation)
	return func(row *exec.Row) (bsonx.Value, error) {
		values, err := gen.Values(row.Doc, metaOf(row))
		return bsonx.ValueOf(values), err
	}
}

// CheckMetaKind fails for metadata that the documents of a query never have.
func CheckMetaKind(f *filter.Filter, kind string) error {
	switch from := expr.Metadata(kind).From; {
	case from == expr.TextSearch && f.Text() != nil:
		return nil
	case from == expr.NearSearch && f != nil && HasNear(f.Root):
		return nil
	default:
		return expr.NoMeta(kind)
	}
}

// MetaReader reads the metadata of a row that a projection needs.
type MetaReader struct {
	query   *Query
	kinds   []string
	fields  exec.EntryFields
	sortKey *index.MetaSortGen
}

// NewMetaReader returns a reader of the metadata that p needs.
func NewMetaReader(q *Query, p *projection.Projection) *MetaReader {
	r := &MetaReader{query: q, kinds: p.MetaKinds()}
	if q.sorts() {
		r.sortKey = index.NewMetaSortGen(SortPattern(q.Sort), q.Collation)
	}
	return r
}

// NewMetaProjector returns a projector for a projection that needs metadata.
func NewMetaProjector(q *Query, p *projection.Projection) exec.Projector {
	r := NewMetaReader(q, p)
	return func(dst []byte, row *exec.Row) ([]byte, error) {
		meta := new(projection.Meta)
		if err := r.Read(meta, row); err != nil {
			return dst, err
		}
		return p.Apply(dst, row.Doc, meta)
	}
}

// Read sets meta to the metadata of a row.
func (r *MetaReader) Read(meta *projection.Meta, row *exec.Row) (err error) {
	meta.Searched = r.query.Filter.HasText()
	for _, kind := range r.kinds {
		switch {
		case kind == "recordId":
			meta.RecordID, err = RecordIDOf(r.query.Coll, row)
		case kind == MetaTextScore && row.Scored:
			meta.TextScore = bsonx.Double(row.Score)
		case kind == metaIndexKey && row.IndexKey != nil:
			meta.IndexKey = bsonx.Document(row.IndexKey)
		case kind == metaIndexKey && row.Key != nil:
			meta.IndexKey, err = r.indexKey(row)
		case kind == metaDistance && row.Located:
			meta.GeoDistance = bsonx.Double(row.Distance)
		case kind == metaPoint && row.Located:
			meta.GeoPoint = row.Place
		case kind == MetaSortKey && r.sortKey != nil:
			var values []bsonx.Value
			values, err = r.sortKey.Values(row.Doc, metaOf(row))
			meta.SortKey = bsonx.ValueOf(values)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *MetaReader) indexKey(row *exec.Row) (bsonx.Value, error) {
	doc, err := r.fields.Document(nil, row)
	return bsonx.Document(doc), err
}

// HasNear reports whether a filter contains a predicate that sorts by distance.
func HasNear(n filter.Node) bool {
	found := false
	filter.WalkNodes(n, func(n filter.Node) bool {
		found = found || n.Kind() == filter.KindGeoNear
		return !found
	})
	return found
}
