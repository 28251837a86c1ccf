package crud

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/ddl"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/timeseries"
	"github.com/sheafdb/sheaf/internal/write"
)

// deleteMeasurements runs a delete on a time-series collection.
func deleteMeasurements(ctx context.Context, r *command.Request, c *table.Collection, st *write.DeleteStatement,
	query bsonx.Doc, opts write.Options,
) (int64, error) {
	o := c.Timeseries
	find := filter.FindOptions(nil, r.Now)
	find.Collation = st.Filter.Collation()
	buckets, err := filter.Parse(o.BucketFilter(query, read.MeasuredIndexes(c, find.Collation)), find)
	if err != nil {
		return 0, err
	}
	if r.Work != nil {
		return 0, errSeriesInTxn
	}
	return r.Service.Writes.DeleteMeasurements(ctx, &write.MeasurementDelete{
		Buckets: write.Query{Coll: c, Filter: buckets, Hint: read.BucketHint(o, st.Hint)},
		Filter:  st.Filter, One: st.One, Deleted: st.Deleted,
	}, opts)
}

// errSeriesInTxn is the error for a write to a time series in a multi-document transaction.
var errSeriesInTxn = mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
	"Cannot write to a time-series collection in a multi-document transaction")

// errSeriesUpdateOne is the error for an update of a single measurement.
var errSeriesUpdateOne = ddl.InvalidSeries("Cannot perform a non-multi update on a time-series collection")

// updateSeries runs an update on a time series. It updates the meta field of all measurements that
// match the query, which may use only the meta field.
func updateSeries(ctx context.Context, r *command.Request, c *table.Collection, sc read.Scope,
	spec *command.UpdateSpec, opts write.Options,
) (write.UpdateResult, error) {
	o := c.Timeseries
	if r.Work != nil {
		return write.UpdateResult{}, errSeriesInTxn
	}
	switch {
	case !spec.Multi:
		return write.UpdateResult{}, errSeriesUpdateOne
	case spec.Upsert:
		return write.UpdateResult{}, ddl.InvalidSeries("Cannot perform an upsert on a time-series collection")
	}
	query, err := o.UpdateQuery(spec.Query)
	if err != nil {
		return write.UpdateResult{}, err
	}
	mods, err := o.MetaUpdate(spec.Mods)
	if err != nil {
		return write.UpdateResult{}, err
	}
	onBuckets := *spec
	onBuckets.Query, onBuckets.Mods, onBuckets.Hint = query, bsonx.Document(mods), read.BucketHint(o, spec.Hint)
	st := new(write.UpdateStatement)
	if err := compileUpdate(r, sc, c, &onBuckets, st); err != nil {
		return write.UpdateResult{}, err
	}
	st.Coll = c
	var res write.UpdateResult
	st.Updated = func(old, doc bsonx.Doc) error {
		n := int64(timeseries.Count(old))
		res.Matched += n
		if !old.Equal(doc) {
			res.Modified += n
		}
		return nil
	}
	_, err = r.Service.Writes.Update(ctx, st, opts)
	if errors.Is(err, table.ErrDropped) {
		return write.UpdateResult{}, nil
	}
	return res, err
}

// seriesOf returns the bucket collection of a time series, or nil if db.name is not a time series.
func seriesOf(s *command.Service, db, name string) *table.Collection {
	c := s.Store.Lookup(db, name)
	if c == nil || c.Kind != catalog.KindTimeseries {
		return nil
	}
	return s.Store.Buckets(c)
}

// bucketQuery returns the query on buckets of an explained write to a time series.
func bucketQuery(r *command.Request, c *table.Collection, sc read.Scope, predicate bsonx.Doc,
	hint bsonx.Value,
) (*query.Query, error) {
	o := c.Timeseries
	f, err := sc.Filter(o.BucketFilter(predicate, read.MeasuredIndexes(c, sc.Collation)))
	return &query.Query{
		DB: c.DB, Name: c.Name, Coll: c, Filter: f, Collation: sc.Collation,
		Hint: read.BucketHint(o, hint), AllowDiskUse: true,
	}, err
}
