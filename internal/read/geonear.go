package read

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/table"
)

// locate adds the search by distance of a $geoNear to a query.
func (p *Pipelines) locate(q *query.Query, near *pipeline.GeoNear, vars *expr.Vars) error {
	if q.Coll == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound,
			"$geoNear needs a collection to run, but %s does not exist", q.Namespace())
	}
	key := near.Key
	if key == "" {
		var err error
		if key, err = nearKey(q.Coll); err != nil {
			return err
		}
	}
	spec, err := near.Filter(key)
	if err != nil {
		return err
	}
	opts := filter.FindOptions(vars, p.Now)
	opts.Borrow, opts.Collation = true, p.Collation
	q.Filter, err = filter.Parse(spec, opts)
	q.Located, q.Multiplier = near.Locate, near.Multiplier
	return err
}

// nearKey returns the path of the collection's 2d index, or else of its 2dsphere index. It fails if
// there are several indexes of the same type, or if there is no such index.
func nearKey(c *table.Collection) (string, error) {
	for _, kind := range index.GeoKinds() {
		var only *table.Index
		for _, ix := range c.Indexes {
			if !ix.Ready || ix.Hidden || ix.Kind() != kind {
				continue
			}
			if only != nil {
				return "", mongoerr.New(mongoerr.IndexNotFound, "There is more than one %s index on %s; unsure which to use for $geoNear",
					only.Key.Lookup(geoPath(only.Key)).Str(), c.Namespace())
			}
			only = ix
		}
		if only != nil {
			return geoPath(only.Key), nil
		}
	}
	return "", mongoerr.New(mongoerr.IndexNotFound, "$geoNear requires a 2d or 2dsphere index, but none were found")
}

// geoPath returns the path of the first geo field of an index.
func geoPath(key bsonx.Doc) string {
	for it := key.Iter(); it.Next(); {
		if path := string(it.Key()); index.FieldKind(path, it.Value()).IsGeo() {
			return path
		}
	}
	return ""
}
