package crud

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/ddl"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/timeseries"
	"github.com/sheafdb/sheaf/internal/update"
	"github.com/sheafdb/sheaf/internal/write"
)

// $out writes the results of a pipeline to a new collection, which then replaces the target
// atomically. Readers see either the old collection or the complete new one.

// Out implements source.Writer.
func (p *stageWriter) Out(ctx context.Context, target *source.Out, src source.Source) error {
	existing, err := unchangedTarget(p.service, p.Begun, target.DB, target.Coll)
	if err != nil {
		return err
	}
	if target.Timeseries != nil || existing != nil && existing.Kind == catalog.KindTimeseries {
		return replaceSeries(ctx, p.request(), src, target, existing, p.writes)
	}
	return replaceBy(ctx, p.request(), src, &command.Namespace{DB: target.DB, Name: target.Coll}, existing, p.writes)
}

// request returns a request for the writes of a pipeline. It has no connection.
func (p *stageWriter) request() *command.Request {
	return &command.Request{Service: p.service, Now: p.Now}
}

// unchangedTarget returns the collection with the name of a pipeline's target, or nil if it does
// not exist. It fails if the options or indexes have changed since the pipeline began (catalog view
// begun), because $out must not replace a collection that was changed meanwhile.
func unchangedTarget(s *command.Service, begun table.CatalogView, db, name string) (*table.Collection, error) {
	c := s.Store.Lookup(db, name)
	var now *table.Entry
	if c != nil && !read.IsVirtual(c) {
		now = c.Collection
	}
	return c, schema.SameDefinition(db, name, begun.Lookup(db, name), now)
}

// runOut replaces the target by the documents of src. It fails if the target has changed since the
// catalog view begun.
func runOut(ctx context.Context, r *command.Request, src source.Source, target *command.Namespace,
	begun table.CatalogView,
) error {
	defer src.Close()
	existing, err := unchangedTarget(r.Service, begun, target.DB, target.Name)
	if err != nil {
		return err
	}
	return replaceBy(ctx, r, src, target, existing, writeOptions(r))
}

// replaceBy replaces existing by a collection with the documents of src. existing is the collection
// with the target's name, or nil.
func replaceBy(ctx context.Context, r *command.Request, src source.Source, target *command.Namespace,
	existing *table.Collection, opts write.Options,
) error {
	began := r.Service.Clock.Now()
	defer func() {
		r.Service.CountTraffic(target.DB, target.Name, table.TrafficInsert, clock.Since(r.Service.Clock, began))
	}()
	if err := catalog.CheckDatabaseName(target.DB); err != nil {
		return err
	}
	if err := catalog.CheckWrite(target.DB, target.Name); err != nil {
		return mongoerr.New(mongoerr.IllegalOperation, "Failed to rename temporary $out collection :: caused by :: error with target namespace: %s",
			command.UserError(err).Message)
	}
	old, err := command.WrittenTarget(r, existing)
	if err != nil {
		return err
	}
	if old != nil && old.Timeseries != nil { // only for mapReduce; $out uses replaceSeries
		return mongoerr.New(mongoerr.CommandNotSupportedOnView,
			"Namespace %s.%s is a timeseries collection", target.DB, target.Name)
	}
	if old != nil && table.IsCapped(old.Options) {
		return mongoerr.New(codeOutCapped, "namespace '%s' is capped so it can't be used for $out", old.Namespace())
	}
	out, err := newOut(r, target, old)
	if err != nil {
		return err
	}
	return orDropped(r, out, func() error {
		if err := copyTo(ctx, r, src, out, opts); err != nil {
			return err
		}
		return schema.Replace(r.Service.Store, out, target.DB, target.Name, old)
	})
}

// The error codes of MongoDB for a time-series target of $out.
const (
	codeOutNoSeries    = mongoerr.Code(7268700)
	codeOutOtherSeries = mongoerr.Code(7406103)
)

// replaceSeries replaces existing, which may be nil, by a time series with the documents of src.
func replaceSeries(ctx context.Context, r *command.Request, src source.Source, target *source.Out,
	existing *table.Collection, opts write.Options,
) error {
	if existing != nil && existing.Kind != catalog.KindTimeseries {
		return mongoerr.New(codeOutNoSeries, "Cannot create a time-series collection from a non time-series collection or view: %s", existing.Namespace())
	}
	options := bsonx.NewDoc()
	if target.Timeseries != nil {
		spec, err := ddl.ParseSeries("$out.timeseries", target.Timeseries, ddl.TimeseriesFields)
		if err == nil {
			err = spec.Complete(target.DB + "." + target.Coll)
		}
		if err != nil {
			return err
		}
		options = bsonx.NewDoc("timeseries", spec.Stored())
	}
	var indexes []bsonx.Doc
	old := r.Service.Store.Buckets(existing)
	if existing != nil && old == nil { // dropped since existing was looked up
		return schema.SameDefinition(target.DB, target.Coll, existing.Collection, nil)
	}
	if old != nil {
		if target.Timeseries != nil && *timeseries.FromOptions(options) != *old.Timeseries {
			return mongoerr.New(codeOutOtherSeries, "Time-series options provided must match those of the existing collection %s", existing.Namespace())
		}
		options = existing.Options
		indexes = schema.CompleteIndexes(old.Collection)
	} else {
		indexes = ddl.FirstIndexes(options)
	}
	out, err := schema.CreateTimeseries(r.Service.Store, target.DB, unfinishedName(), options, indexes...)
	if err != nil {
		return err
	}
	return orDropped(r, out, func() error {
		if err := copyTo(ctx, r, src, out, opts); err != nil {
			return err
		}
		series := r.Service.Store.OfBuckets(out)
		if series == nil {
			return table.ErrDropped
		}
		return schema.ReplaceTimeseries(r.Service.Store, series, target.DB, target.Coll, existing, old)
	})
}

// unfinishedName returns a new temporary name for a collection that is renamed when it is complete.
func unfinishedName() string {
	id := table.NewUUID()
	return schema.UnfinishedPrefix + hex.EncodeToString(id[:])
}

// newOut creates an empty collection with the options and indexes of old, the collection that it
// will replace.
func newOut(r *command.Request, target *command.Namespace, old *table.Collection) (*table.Collection, error) {
	options := bsonx.Empty
	var specs []bsonx.Doc
	if old != nil {
		options = old.Options
		specs = schema.CompleteIndexes(old.Collection)
	}
	return schema.CreateNew(r.Service.Store, &schema.NewCollection{
		DB: target.DB, Name: unfinishedName(), Kind: catalog.KindCollection, Options: options, Indexes: specs,
	})
}

// The largest number of documents and of bytes that $out writes in one batch.
const (
	outBatch = 500
	outBytes = 4 << 20
)

// orDropped calls do, which fills the unfinished collection out. If do fails, it drops out.
func orDropped(r *command.Request, out *table.Collection, do func() error) error {
	err := do()
	if err == nil {
		return nil
	}
	if errors.Is(err, table.ErrDropped) || errors.Is(err, table.ErrChanged) {
		return mongoerr.New(mongoerr.CommandFailed,
			"the collection %s was dropped while it was filled", out.Namespace())
	}
	if dropErr := schema.Drop(r.Service.Store, out); dropErr != nil && !errors.Is(dropErr, table.ErrChanged) {
		r.Service.Logger.Error("Drop of an unfinished $out", "ns", out.Namespace(), "error", dropErr)
	}
	return err
}

// copyTo inserts the documents of src into a collection.
func copyTo(ctx context.Context, r *command.Request, src source.Source,
	out *table.Collection, opts write.Options,
) error {
	o := outWriter{req: r, out: out, opts: opts, held: r.Service.Memory.Hold()}
	defer o.held.Release()
	for {
		doc, err := src.Next(ctx)
		if err != nil {
			return err
		}
		if doc == nil {
			return o.flush(ctx)
		}
		if err := o.add(ctx, doc); err != nil {
			return err
		}
	}
}

// outWriter inserts documents into a collection in batches.
type outWriter struct {
	req  *command.Request
	out  *table.Collection
	opts write.Options

	batch []bsonx.Doc
	bytes int
	held  memory.Holding // memory of the batch
}

// add adds a document to the batch, and writes the batch if it is full. It writes a large document
// immediately instead of copying it to the batch, because the copy would need memory in addition to
// the write.
func (o *outWriter) add(ctx context.Context, doc bsonx.Doc) error {
	if o.bytes+len(doc) > outBytes || !o.held.Fits(int64(o.bytes+len(doc))) {
		if err := o.flush(ctx); err != nil {
			return err
		}
	}
	large := len(doc) > outBytes
	if !large {
		doc = doc.Clone()
	}
	prepared, err := update.PrepareInsert(doc, nil, o.req.Service.NextTime)
	if err != nil {
		return err
	}
	o.batch, o.bytes = append(o.batch, prepared), o.bytes+len(prepared)
	if large || len(o.batch) == outBatch {
		return o.flush(ctx)
	}
	return o.held.Hold(int64(o.bytes))
}

// flush writes the batch and empties it.
func (o *outWriter) flush(ctx context.Context) error {
	if err := insertAll(ctx, o.req.Service.Writes, o.out, o.batch, o.opts); err != nil {
		return err
	}
	o.req.Service.Stats.Inserts.Count(int64(len(o.batch)), int64(len(o.batch)))
	clear(o.batch)
	o.batch, o.bytes = o.batch[:0], 0
	o.held.Shrink(0)
	return nil
}

// insertAll inserts documents and returns an error if any of them fails.
func insertAll(ctx context.Context, w *write.Executor, c *table.Collection,
	docs []bsonx.Doc, opts write.Options,
) error {
	if len(docs) == 0 {
		return nil
	}
	var failure error
	_, err := w.Insert(ctx, w.Only(c), docs, opts, func(_ int, err error) { failure = err })
	if err != nil {
		return err
	}
	return failure
}
