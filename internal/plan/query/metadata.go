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
	// MetaSortKey names the sort keys of a row in a $meta.
	MetaSortKey = "sortKey"
)

// ReadsIndexKey reports whether the index keys of the rows are wanted.
func (q *Query) ReadsIndexKey() bool {
	return q.IndexKeys || q.Projection != nil && slices.Contains(q.Projection.MetaKinds(), metaIndexKey)
}

// ReturnsSortKey reports whether sort keys are added to the index keys that are returned.
func (q *Query) ReturnsSortKey() bool {
	return q.ReturnKey && q.Projection != nil && slices.Contains(q.Projection.MetaKinds(), MetaSortKey)
}

// CheckMeta refuses a projection of sort keys where there is no sort, and one of scores or
// distances or a sort by them where there is no such search.
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

// CheckSortMeta refuses a sort by scores or distances where the filter has no such search.
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

// errNoSortKey refuses a projection of sort keys where there is no sort.
var errNoSortKey = mongoerr.New(mongoerr.BadValue, "cannot use sortKey $meta projection without a sort")

// sorts reports whether the query has a sort that gives sort keys.
func (q *Query) sorts() bool { return !q.Sort.IsEmpty() && string(q.Sort.First().Key) != "$natural" }

// RowMeta names metadata of rows.
type RowMeta struct{ SortKey, RecordID bool }

// RecordID returns the record id of a row.
func (q *Query) RecordID(row *exec.Row) (bsonx.Value, error) { return RecordIDOf(q.Coll, row) }

// SortKeys returns a reader of the sort keys of rows that are whole documents: an array, which is
// empty without a sort. Those of a $geoNear are their distances.
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

// CheckMetaKind refuses metadata that the documents of a query never have.
func CheckMetaKind(f *filter.Filter, kind string) error {
	switch kind {
	case MetaTextScore:
		if f.Text() != nil {
			return nil
		}
	case metaDistance, metaPoint:
		if f != nil && HasNear(f.Root) {
			return nil
		}
	}
	return expr.NoMeta(kind)
}

// MetaReader finds the metadata of a row that a projection asks for.
type MetaReader struct {
	query   *Query
	kinds   []string
	fields  exec.EntryFields
	sortKey *index.MetaSortGen
}

// NewMetaReader returns a reader of the metadata that p asks for.
func NewMetaReader(q *Query, p *projection.Projection) *MetaReader {
	r := &MetaReader{query: q, kinds: p.MetaKinds()}
	if q.sorts() {
		r.sortKey = index.NewMetaSortGen(SortPattern(q.Sort), q.Collation)
	}
	return r
}

// NewMetaProjector returns what applies a projection that asks for metadata.
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

// Read fills meta for a row.
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

// HasNear reports whether a filter sorts by distance.
func HasNear(n filter.Node) bool {
	found := false
	filter.WalkNodes(n, func(n filter.Node) bool {
		found = found || n.Kind() == filter.KindGeoNear
		return !found
	})
	return found
}
