package read

import (
	"maps"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// unpackStage returns the stage that turns buckets into measurements.
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

// unpack puts the stages that read the buckets of a time-series collection before stages on its
// measurements. They are a $match with the part of the leading $match stages that can be evaluated
// on buckets, and the stage that unpacks the required fields. If the stages after them only count
// measurements, unpack returns stages that add up the counts of the buckets.
func unpack(c *table.Collection, stages []bsonx.Value, vars *expr.Vars, p *Pipelines) []bsonx.Value {
	o := c.Timeseries
	if reportsFirst(stages) {
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
	opts := filter.FindOptions(vars, p.Now)
	opts.Collation = p.Collation
	if _, err := filter.Parse(query, opts); err != nil {
		return append([]bsonx.Value{unpackStage(o, nil, nil)}, stages...) // parsing the stages fails later
	}
	var include []string
	parsed, err := pipeline.Parse(bsonx.ValueOf(stages),
		parsing.Options{Vars: vars.WithFailures(&expr.Failures{}), Now: p.Now, DB: c.DB, Collation: p.Collation})
	if err == nil {
		if fields, all := parsed.TopFields(); !all {
			include = slices.Sorted(maps.Keys(fields))
		}
	}
	var out []bsonx.Value
	if buckets := o.BucketFilter(query, MeasuredIndexes(c, p.Collation)); !buckets.IsEmpty() {
		out = append(out, bsonx.Document(bsonx.NewDoc("$match", buckets)))
	}
	residual := o.Residual(query)
	if counted := countedBuckets(rest); counted != nil && residual.IsEmpty() {
		return append(out, counted...)
	}
	out = append(out, unpackStage(o, include, residual))
	return append(out, rest...)
}

// countedBuckets returns stages on buckets that count the measurements in the same way as the given
// stages. It returns nil if the given stages do more than count.
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
	case string(first.Key) == "$group" && first.Value.Doc().Equal(CountGroup):
		return []bsonx.Value{bsonx.Document(bsonx.NewDoc("$group", bsonx.NewDoc("_id", bsonx.Null, "n", sum)))}
	default:
		return nil
	}
}

// conjunction returns a query that matches if all predicates match.
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

// MeasuredIndexes returns a function that reports whether a measured field has an index on the
// buckets. It is nil under a collation, because the buckets' bounds compare strings by their bytes.
func MeasuredIndexes(c *table.Collection, co *collation.Collator) func(path string) bool {
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

// BucketHint translates the key pattern of a hint into the key pattern of the buckets.
func BucketHint(o *timeseries.Options, hint bsonx.Value) bsonx.Value {
	if hint.Type != bsonx.TypeDocument || string(hint.Doc().First().Key) == "$natural" {
		return hint
	}
	return bsonx.Document(o.BucketKey(hint.Doc()))
}
