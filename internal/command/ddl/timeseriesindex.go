package ddl

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// An index on a time series is stored as an index on its buckets. The specification of the bucket
// index contains the specification that the client sent, which is about measurements.

// bucketIndex returns the specification of the bucket index for an index on measurements.
func bucketIndex(o *timeseries.Options, spec bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for it := spec.Iter(); it.Next(); {
		switch name, v := string(it.Key()), it.Value(); name {
		case "key":
			b.Doc(name, o.BucketKey(v.Doc()))
		case "partialFilterExpression":
			b.Doc(name, o.BucketFilter(v.Doc(), nil))
		// omitted: a bucket lacks bounds only if it lacks the field, and buckets expire by their
		// own rule
		case "sparse", "expireAfterSeconds":
		default:
			b.Value(name, v)
		}
	}
	b.Doc(command.OriginalSpec, spec)
	b.End()
	return b.Bytes()
}

// bucketIndexes checks the specifications of indexes on measurements and returns the
// specifications of the bucket indexes.
func bucketIndexes(c *table.Collection, specs []*indexSpec) ([]*indexSpec, error) {
	o, out := c.Timeseries, make([]*indexSpec, len(specs))
	for i, s := range specs {
		if err := checkSeriesIndex(o, s); err != nil {
			return nil, err
		}
		onBuckets, err := parseIndexSpec(bucketIndex(o, s.stored(c.Collation)))
		if err != nil {
			return nil, err
		}
		if err := onBuckets.readCollation(); err != nil {
			return nil, err
		}
		out[i] = onBuckets
	}
	return out, nil
}

// checkSeriesIndex returns an error for an index that time series do not support.
func checkSeriesIndex(o *timeseries.Options, s *indexSpec) error {
	never := func(d *index.Definition) bool { return d.Series == index.NotOnSeries }
	if kind, found := index.Having(s.key, never); found {
		name := kind.Definition().Name
		return InvalidSeries("%s indexes are not supported on time-series collections",
			strings.ToUpper(name[:1])+name[1:])
	}
	measured := false
	for it := s.key.Iter(); it.Next(); {
		if err := checkSeriesKey(o, s.key, it.Elem()); err != nil {
			return err
		}
		measured = measured || !o.IsMetaOrTime(string(it.Key()))
	}
	switch {
	case s.sparse && measured:
		return InvalidSeries("Sparse indexes are not supported on time-series measurements")
	case s.unique:
		return InvalidSeries("Unique indexes are not supported on time-series collections")
	case s.ttl.IsMissing():
		return nil
	}
	if _, ok := o.MetaOnly(s.partial); !ok || s.partial.IsEmpty() {
		return InvalidSeries("TTL indexes on time-series collections require a partialFilterExpression on the metaField")
	}
	if string(s.key.First().Key) != o.Time {
		return InvalidSeries("TTL indexes on non-time fields are not supported on time-series collections")
	}
	return nil
}

// checkSeriesKey returns an error if a field of a key pattern has an index type that buckets do not
// support. The meta value supports every type, because buckets store it unchanged.
func checkSeriesKey(o *timeseries.Options, key bsonx.Doc, field bsonx.Elem) error {
	path := string(field.Key)
	if path == "$**" {
		return mongoerr.New(codeTwoWildcards, "Index Key can contain only one wildcard index field")
	}
	if field.Value.Type != bsonx.TypeString {
		return nil
	}
	switch {
	case path == o.Time:
		return cannotCreate("BadValue: Invalid index spec for time-series collection: %s. Indexes on the time field must be ascending or "+
			"descending (numbers only): %s: %q", bsonx.FormatShell(bsonx.Document(key)), path, field.Value.Str())
	case !o.IsMetaOrTime(path) && index.FieldKind(path, field.Value).Definition().Series != index.OnMeasurements:
		return cannotCreate("BadValue: Invalid index spec for time-series collection: %s. Indexes on measurement fields must be ascending or "+
			"descending (numbers only), or '2dsphere': %s: %q",
			bsonx.FormatShell(bsonx.Document(key)), path, field.Value.Str())
	}
	return nil
}

// seriesIndexes returns the original specifications of the indexes on a time series.
func seriesIndexes(buckets *table.Collection) []bsonx.Doc {
	var out []bsonx.Doc
	for _, ix := range buckets.Indexes {
		original := ix.Spec.Lookup(command.OriginalSpec)
		if original.Type != bsonx.TypeDocument {
			continue
		}
		out = append(out, listedIndex(original.Doc().With("hidden", ix.Spec.Lookup("hidden"))))
	}
	return out
}

// seriesModFields are the fields of collMod's option timeseries.
var seriesModFields = TimeseriesFields[2:]

// modifySeries runs collMod on a time series.
func modifySeries(ctx context.Context, req *command.Request, c, buckets *table.Collection, reply *bsonx.Builder) error {
	for _, option := range []string{
		"validator", "validationLevel", "validationAction", "viewOn", "pipeline", "recordPreImages",
		"changeStreamPreAndPostImages", "cappedSize", "cappedMax",
	} {
		if req.Has(option) {
			return InvalidSeries("option not supported on a time-series collection: %s", option)
		}
	}
	if err := checkModifyTTL(req, c.Options); err != nil {
		return err
	}
	options, changed, err := modifiedSeries(req, c.Options)
	if err != nil {
		return err
	}
	if spec := req.Doc("index"); spec != nil {
		for _, option := range []string{"unique", "prepareUnique", "forceNonUnique"} {
			if !spec.Lookup(option).IsMissing() {
				return InvalidSeries("collMod's index option %s is not supported on a time-series collection", option)
			}
		}
	}
	m := new(schema.CollMod)
	if err := modifyIndex(ctx, req, buckets, m, reply); err != nil {
		return err
	}
	options, expires := modifyTTL(req, options)
	options, mixed := modifyMixedSchema(req, options)
	if changed || expires || mixed {
		m.Options = options
	}
	if req.Bool("dryRun") || m.Options == nil && m.Index == "" {
		return nil
	}
	return schema.ModifyTimeseries(req.Service.Store, c, buckets, m)
}

// mixedSchema is the argument of collMod that allows values of different types in one field of a
// bucket. MongoDB needs it for buckets of old versions. Here it has no effect and is only stored,
// for tools.
const mixedSchema = "timeseriesBucketsMayHaveMixedSchemaData"

// modifyMixedSchema returns the options with the setting mixedSchema in MongoDB's format, and
// whether it changes.
func modifyMixedSchema(req *command.Request, options bsonx.Doc) (bsonx.Doc, bool) {
	if !req.Has(mixedSchema) {
		return options, false
	}
	const engine = "storageEngine"
	old, set := options.Lookup(engine), bsonx.Missing
	if req.Bool(mixedSchema) {
		config := bsonx.NewDoc("configString", "app_metadata=("+mixedSchema+"=true)")
		set = bsonx.Document(bsonx.NewDoc("wiredTiger", config))
	}
	if old.Identical(set) {
		return options, false
	}
	return options.With(engine, set), true
}

// modifiedSeries returns the options with the changes of collMod's option timeseries, and whether
// there are any. The time span of buckets may only grow.
func modifiedSeries(req *command.Request, options bsonx.Doc) (bsonx.Doc, bool, error) {
	doc := req.Doc("timeseries")
	if doc == nil {
		return options, false, nil
	}
	next, err := ParseSeries("collMod.timeseries", doc, seriesModFields)
	if err != nil || next.granularity == "" && next.span == 0 && next.rounding == 0 {
		return options, false, err
	}
	old := options.Lookup("timeseries").Doc()
	now, current := timeseries.FromOptions(options), ""
	if v := old.Lookup("granularity"); v.Type == bsonx.TypeString {
		current = v.Str()
	}
	next.time, next.meta = now.Time, now.Meta
	if err := next.completeSpan(); err != nil {
		return nil, false, err
	}
	if next.granularity != "" && current != "" &&
		granularityStep(current, next.granularity) > 1 || next.span < now.Span ||
		next.granularity == "" && next.rounding < now.Rounding {
		return nil, false, mongoerr.New(mongoerr.InvalidOptions,
			"Invalid transition for timeseries.granularity. Can only transition from 'seconds' to 'minutes' or 'minutes' to 'hours'.")
	}
	if next.granularity == current && next.span == now.Span {
		return options, false, nil
	}
	return options.With("timeseries", bsonx.Document(next.Stored())), true, nil
}

// granularityStep returns by how many steps the granularity to is coarser than from. It is negative
// if to is finer.
func granularityStep(from, to string) int {
	step := 0
	for i, g := range timeseries.Granularities {
		if g.Name == from {
			step -= i
		}
		if g.Name == to {
			step += i
		}
	}
	return step
}
