package command

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/timeseries"
	"github.com/sheafdb/sheaf/internal/write"
)

// timeseriesFields are the fields of the option timeseries.
var timeseriesFields = []Field{
	{Name: "timeField", Type: String, Required: true},
	{Name: "metaField", Type: String},
	{Name: "granularity", Type: String},
	{Name: "bucketMaxSpanSeconds", Type: SafeInt, Check: Between(1, timeseries.MaxSpan)},
	{Name: "bucketRoundingSeconds", Type: SafeInt, Check: Between(1, timeseries.MaxSpan)},
}

func checkGranularity(name string, v bsonx.Value) error {
	for _, g := range timeseries.Granularities {
		if v.Str() == g.Name {
			return nil
		}
	}
	return mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field '%s' is not a valid value.", v.Str(), name)
}

// seriesSpec is the option timeseries, checked.
type seriesSpec struct {
	time, meta, granularity string
	span, rounding          int64 // 0 where they are not given
}

func parseSeries(path string, doc bsonx.Doc, fields []Field) (*seriesSpec, error) {
	s := &seriesSpec{}
	return s, ParseFields(path, doc, fields, func(i int, v bsonx.Value) error {
		switch fields[i].Name {
		case "timeField":
			s.time = v.Str()
		case "metaField":
			s.meta = v.Str()
		case "granularity":
			s.granularity = v.Str()
			return checkGranularity(path+".granularity", v)
		case "bucketMaxSpanSeconds":
			s.span = saturatingInt64(v)
		case "bucketRoundingSeconds":
			s.rounding = saturatingInt64(v)
		}
		return nil
	})
}

func invalidSeries(format string, args ...any) error {
	return mongoerr.New(mongoerr.InvalidOptions, format, args...)
}

// notWithSeries is the error of an option of create that a time-series collection cannot have.
func notWithSeries(req *Request, option string) error {
	return invalidSeries("%s.%s: 'timeseries' is not allowed with '%s'", req.DB, req.CommandValue().Str(), option)
}

// complete checks the options of a collection against each other and fills in the span.
func (s *seriesSpec) complete(namespace string) error {
	for _, field := range []struct{ option, name string }{{"timeField", s.time}, {"metaField", s.meta}} {
		switch {
		case strings.HasPrefix(field.name, "$"):
			return mongoerr.New(mongoerr.BadValue, "The 'timeField' or 'metaField' cannot start with '$'")
		case strings.Contains(field.name, "."):
			return invalidSeries("%s: '%s' must be a top-level field and not contain a '.'", namespace, field.option)
		}
	}
	switch s.meta {
	case "_id":
		return invalidSeries("'metaField' cannot be \"_id\"")
	case s.time:
		return invalidSeries("'metaField' cannot be the same as 'timeField'")
	}
	return s.completeSpan()
}

func (s *seriesSpec) completeSpan() error {
	if s.granularity == "" && s.span == 0 && s.rounding == 0 {
		s.granularity = timeseries.Granularities[0].Name
	}
	if s.granularity == "" {
		if s.span != s.rounding {
			return invalidSeries("Time-series 'bucketRoundingSeconds' must be equal to 'bucketMaxSpanSeconds'")
		}
		return nil
	}
	if s.rounding != 0 {
		return invalidSeries("Time-series 'bucketRoundingSeconds' cannot be set alongside the granularity parameter")
	}
	for _, g := range timeseries.Granularities {
		if g.Name != s.granularity {
			continue
		}
		if s.span != 0 && s.span != g.Span {
			return invalidSeries("Time-series 'bucketMaxSpanSeconds' cannot be set to a value other than the default of %d for the provided granularity", g.Span)
		}
		s.span = g.Span
	}
	return nil
}

// stored returns the option as listCollections shows it.
func (s *seriesSpec) stored() bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("timeField", s.time)
	if s.meta != "" {
		b.String("metaField", s.meta)
	}
	if s.granularity != "" {
		b.String("granularity", s.granularity)
	} else {
		b.Int32("bucketRoundingSeconds", int32(s.rounding))
	}
	b.Int32("bucketMaxSpanSeconds", int32(s.span))
	b.End()
	return b.Bytes()
}

// withSeries are the options of create that go with timeseries.
var withSeries = map[string]bool{
	"timeseries": true, "expireAfterSeconds": true, "collation": true, "storageEngine": true, "indexOptionDefaults": true,
}

// seriesOptions checks the options of create for a time-series collection, and returns those that are kept.
func seriesOptions(req *Request) (bsonx.Doc, error) {
	spec, err := parseSeries("create.timeseries", req.Doc("timeseries"), timeseriesFields)
	if err != nil {
		return nil, err
	}
	if strings.ContainsRune(spec.time+spec.meta, 0) {
		return nil, mongoerr.New(mongoerr.BadValue, "The 'timeField' or the 'metaField' cannot contain embedded null bytes")
	}
	for _, arg := range req.Args() {
		if name := string(arg.Key); !withSeries[name] && (name != "capped" || arg.Value.Truthy()) {
			return nil, notWithSeries(req, name)
		}
	}
	if err := spec.complete(req.DB + "." + req.CommandValue().Str()); err != nil {
		return nil, err
	}
	if err := checkCreateTTL(req); err != nil {
		return nil, err
	}
	if err := checkEngineOptions(req); err != nil {
		return nil, err
	}
	co, err := storedCollation(req)
	if err != nil {
		return nil, err
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	if v := req.Doc(indexDefaults); !v.IsEmpty() {
		b.Doc(indexDefaults, v)
	}
	if v := req.Get("expireAfterSeconds"); !v.IsMissing() {
		b.Int64("expireAfterSeconds", saturatingInt64(v))
	}
	if co.Doc().Len() > 1 {
		b.Value("collation", co)
	}
	b.Doc("timeseries", spec.stored())
	if v := req.Get("storageEngine"); !v.IsMissing() && !v.Doc().IsEmpty() {
		b.Value("storageEngine", v) // by which a restored collection is told to have buckets of mixed schema
	}
	b.End()
	return b.Bytes(), nil
}

// createSeries makes a time-series collection. With a metaField it has an index on that and the time.
func (s *Service) createSeries(db, name string, options bsonx.Doc) (*table.Collection, error) {
	return s.Store.CreateTimeseries(db, name, options, firstIndexes(options)...)
}

// firstIndexes are the specifications of the indexes that a time-series collection has from the beginning.
func firstIndexes(options bsonx.Doc) []bsonx.Doc {
	o := timeseries.FromOptions(options)
	if o.Meta == "" {
		return nil
	}
	key := bsonx.NewDoc(o.Meta, 1, o.Time, 1)
	spec := bsonx.NewDoc("v", 2, "key", key, "name", o.Meta+"_1_"+o.Time+"_1")
	if co := options.Lookup("collation"); !co.IsMissing() {
		spec = spec.With("collation", co)
	}
	return []bsonx.Doc{bucketIndex(o, spec)}
}

// unpackStage is the stage that makes measurements of buckets.
func unpackStage(o *timeseries.Options, include []string, events bsonx.Doc) bsonx.Value {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.StartDocField(pipeline.UnpackBucket)
	if include != nil {
		b.StartArrayField("include")
		for _, name := range include {
			b.Elem(bsonx.String(name))
		}
		b.End()
	}
	b.String("timeField", o.Time)
	if o.Meta != "" {
		b.String("metaField", o.Meta)
	}
	b.Int32("bucketMaxSpanSeconds", int32(o.Span))
	if !events.IsEmpty() {
		b.Doc("eventFilter", events)
	}
	b.End()
	b.End()
	return bsonx.Document(b.Bytes())
}

// ofBuckets are the stages that tell of the buckets themselves, where they are the first ones.
var ofBuckets = map[string]bool{"$collStats": true, "$indexStats": true, "$planCacheStats": true}

// unpack puts what reads the buckets of a time-series collection before stages on its measurements: the part of the leading
// $match stages that buckets can be asked, and the stage that unpacks the fields that are read.
func unpack(c *table.Collection, stages []bsonx.Value, vars *expr.Vars, p *pipelines) []bsonx.Value {
	o := c.Timeseries
	if len(stages) > 0 && ofBuckets[string(stages[0].Doc().First().Key)] {
		return stages
	}
	var predicates []bsonx.Value
	rest := stages
	for len(rest) > 0 {
		first := rest[0].Doc().First()
		if string(first.Key) != "$match" || first.Value.Type != bsonx.TypeDocument || rest[0].Doc().Len() != 1 {
			break
		}
		predicates, rest = append(predicates, first.Value), rest[1:]
	}
	query := conjunction(predicates)
	opts := filter.FindOptions(vars, p.now)
	opts.Collation = p.collation
	if _, err := filter.Parse(query, opts); err != nil {
		return append([]bsonx.Value{unpackStage(o, nil, nil)}, stages...) // who parses the stages fails
	}
	var include []string
	parsed, err := pipeline.Parse(bsonx.ValueOf(stages), pipeline.Options{Vars: vars.WithFailures(&expr.Failures{}), Now: p.now, DB: c.DB, Collation: p.collation})
	if err == nil {
		if fields, all := parsed.TopFields(); !all {
			include = slices.Sorted(maps.Keys(fields))
		}
	}
	var out []bsonx.Value
	if buckets := o.BucketFilter(query, measuredIndexes(c, p.collation)); !buckets.IsEmpty() {
		out = append(out, bsonx.Document(bsonx.NewDoc("$match", buckets)))
	}
	residual := o.Residual(query)
	if counted := countedBuckets(rest); counted != nil && residual.IsEmpty() {
		return append(out, counted...)
	}
	out = append(out, unpackStage(o, include, residual))
	return append(out, rest...)
}

// countedBuckets returns stages on buckets that count as stages on their measurements do; nil where these do not only count.
func countedBuckets(stages []bsonx.Value) []bsonx.Value {
	if len(stages) != 1 {
		return nil
	}
	sum := bsonx.NewDoc("$sum", "$control.count")
	first := stages[0].Doc().First()
	switch {
	case string(first.Key) == "$count" && first.Value.Type == bsonx.TypeString:
		name := first.Value.Str()
		group := bsonx.NewDoc("_id", bsonx.Null, name, sum)
		return []bsonx.Value{
			bsonx.Document(bsonx.NewDoc("$group", group)),
			bsonx.Document(bsonx.NewDoc("$project", bsonx.NewDoc("_id", 0))),
		}
	case string(first.Key) == "$group" && first.Value.Doc().Equal(countGroup):
		return []bsonx.Value{bsonx.Document(bsonx.NewDoc("$group", bsonx.NewDoc("_id", bsonx.Null, "n", sum)))}
	default:
		return nil
	}
}

// conjunction returns the query that satisfies all predicates.
func conjunction(predicates []bsonx.Value) bsonx.Doc {
	switch len(predicates) {
	case 0:
		return bsonx.Empty
	case 1:
		return predicates[0].Doc()
	default:
		return bsonx.NewDoc("$and", predicates)
	}
}

// measuredIndexes tells which measured fields indexes of buckets have. Bounds of strings are of bytes: they say nothing under a
// collation.
func measuredIndexes(c *table.Collection, co *collation.Collator) func(path string) bool {
	if co != nil {
		return nil
	}
	fields := map[string]bool{}
	for _, ix := range c.Indexes {
		for _, path := range c.Timeseries.Measured(ix.Key) {
			fields[path] = true
		}
	}
	return func(path string) bool { return fields[path] }
}

// deleteMeasurements runs a delete on a time-series collection.
func (r *Request) deleteMeasurements(ctx context.Context, c *table.Collection, st *write.DeleteStatement, query bsonx.Doc, opts write.Options) (int64, error) {
	o := c.Timeseries
	find := filter.FindOptions(nil, r.Now)
	find.Collation = st.Filter.Collation()
	buckets, err := filter.Parse(o.BucketFilter(query, measuredIndexes(c, find.Collation)), find)
	if err != nil {
		return 0, err
	}
	if opts.Txn != nil {
		return 0, errSeriesInTxn
	}
	return r.Service.Writes.DeleteMeasurements(ctx, &write.MeasurementDelete{
		Buckets: write.Query{Coll: c, Filter: buckets, Hint: bucketHint(o, st.Hint)},
		Filter:  st.Filter, One: st.One, Deleted: st.Deleted,
	}, opts)
}

// errSeriesInTxn refuses writes of time-series collections in multi-document transactions.
var errSeriesInTxn = mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
	"Cannot write to a time-series collection in a multi-document transaction")

// errSeriesUpdateOne refuses an update of a single measurement.
var errSeriesUpdateOne = invalidSeries("Cannot perform a non-multi update on a time-series collection")

// bucketHint turns the key pattern of a hint into that of the buckets.
func bucketHint(o *timeseries.Options, hint bsonx.Value) bsonx.Value {
	if hint.Type != bsonx.TypeDocument || string(hint.Doc().First().Key) == "$natural" {
		return hint
	}
	return bsonx.Document(o.BucketKey(hint.Doc()))
}

// updateSeries runs an update on a time-series collection: of the meta value of all measurements that a query on the meta value
// finds.
func (r *Request) updateSeries(ctx context.Context, c *table.Collection, sc scope, spec *updateSpec, opts write.Options) (write.UpdateResult, error) {
	o := c.Timeseries
	if opts.Txn != nil {
		return write.UpdateResult{}, errSeriesInTxn
	}
	switch {
	case !spec.multi:
		return write.UpdateResult{}, errSeriesUpdateOne
	case spec.upsert:
		return write.UpdateResult{}, invalidSeries("Cannot perform an upsert on a time-series collection")
	}
	query, err := o.UpdateQuery(spec.query)
	if err != nil {
		return write.UpdateResult{}, err
	}
	mods, err := o.MetaUpdate(spec.mods)
	if err != nil {
		return write.UpdateResult{}, err
	}
	onBuckets := *spec
	onBuckets.query, onBuckets.mods, onBuckets.hint = query, bsonx.Document(mods), bucketHint(o, spec.hint)
	st := new(write.UpdateStatement)
	if err := r.compileUpdate(sc, c, &onBuckets, st); err != nil {
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

// seriesOf returns the buckets of a namespace, nil where it is no time-series collection.
func (s *Service) seriesOf(db, name string) *table.Collection {
	c := s.Store.Lookup(db, name)
	if c == nil || c.Kind != catalog.KindTimeseries {
		return nil
	}
	return s.Store.Buckets(c)
}

// bucketQuery is the query on buckets of a write command on a time-series collection that is explained.
func (r *Request) bucketQuery(c *table.Collection, sc scope, query bsonx.Doc, hint bsonx.Value) (*plan.Query, error) {
	o := c.Timeseries
	f, err := sc.filter(o.BucketFilter(query, measuredIndexes(c, sc.collation)))
	return &plan.Query{DB: c.DB, Name: c.Name, Coll: c, Filter: f, Collation: sc.collation, Hint: bucketHint(o, hint), AllowDiskUse: true}, err
}
