package plan

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/projection"
)

const metaIndexKey = "indexKey"

// readsIndexKey reports whether the index keys of the rows are wanted.
func (q *Query) readsIndexKey() bool {
	return q.IndexKeys || q.Projection != nil && slices.Contains(q.Projection.MetaKinds(), metaIndexKey)
}

// CheckMeta refuses a projection of sort keys where there is no sort, and one of scores or a sort by them where there is no text
// search.
func (q *Query) CheckMeta() error {
	if hasScore(q.Sort) {
		if err := q.checkMetaKind(metaTextScore); err != nil {
			return err
		}
	}
	if q.Projection == nil || len(q.Projection.MetaKinds()) == 0 {
		return nil
	}
	for _, kind := range q.Projection.MetaKinds() {
		if err := q.checkMetaKind(kind); err != nil {
			return err
		}
	}
	if !q.Sort.IsEmpty() || !slices.Contains(q.Projection.MetaKinds(), "sortKey") {
		return nil
	}
	return mongoerr.New(mongoerr.BadValue, "cannot use sortKey $meta projection without a sort")
}

// checkMetaKind refuses metadata that the documents of a query never have.
func (q *Query) checkMetaKind(kind string) error {
	switch kind {
	case metaTextScore:
		if q.Filter.Text() != nil {
			return nil
		}
	case "geoNearDistance", "geoNearPoint":
		if q.Filter != nil && hasNear(q.Filter.Root) {
			return nil
		}
	}
	return expr.NoMeta(kind)
}

// metaReader finds the metadata of a row that a projection asks for.
type metaReader struct {
	query   *Query
	kinds   []string
	fields  exec.EntryFields
	sortKey *index.ScoreSortGen
}

func newMetaProjector(q *Query, p *projection.Projection) exec.Projector {
	r := &metaReader{query: q, kinds: p.MetaKinds()}
	if !q.Sort.IsEmpty() && string(q.Sort.First().Key) != "$natural" {
		r.sortKey = index.NewScoreSortGen(sortPattern(q.Sort), q.Collation)
	}
	return func(dst []byte, row *exec.Row) ([]byte, error) {
		meta := new(projection.Meta)
		if err := r.read(meta, row); err != nil {
			return dst, err
		}
		return p.Apply(dst, row.Doc, meta)
	}
}

func (r *metaReader) read(meta *projection.Meta, row *exec.Row) (err error) {
	meta.Searched = r.query.Filter.HasText()
	for _, kind := range r.kinds {
		switch {
		case kind == "recordId":
			meta.RecordID, err = recordIDOf(r.query.Coll, row)
		case kind == metaTextScore && row.Scored:
			meta.TextScore = bsonx.Double(row.Score)
		case kind == metaIndexKey && row.IndexKey != nil:
			meta.IndexKey = bsonx.Document(row.IndexKey)
		case kind == metaIndexKey && row.Key != nil:
			meta.IndexKey, err = r.indexKey(row)
		case kind == "geoNearDistance" && row.Located:
			meta.GeoDistance = bsonx.Double(row.Distance)
		case kind == "geoNearPoint" && row.Located:
			meta.GeoPoint = row.Place
		case kind == "sortKey" && r.sortKey != nil:
			var values []bsonx.Value
			values, err = r.sortKey.Values(row.Doc, scoreOf(row))
			meta.SortKey = bsonx.ValueOf(values)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *metaReader) indexKey(row *exec.Row) (bsonx.Value, error) {
	doc, err := r.fields.Document(nil, row)
	return bsonx.Document(doc), err
}
