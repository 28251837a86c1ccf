package ddl

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// TimeseriesFields are the fields of create's option timeseries.
var TimeseriesFields = []command.Field{
	{Name: "timeField", Type: command.String, Required: true},
	{Name: "metaField", Type: command.String},
	{Name: "granularity", Type: command.String},
	{Name: "bucketMaxSpanSeconds", Type: command.SafeInt, Check: command.Between(1, limits.BucketSeconds)},
	{Name: "bucketRoundingSeconds", Type: command.SafeInt, Check: command.Between(1, limits.BucketSeconds)},
}

func checkGranularity(name string, v bsonx.Value) error {
	for _, g := range timeseries.Granularities {
		if v.Str() == g.Name {
			return nil
		}
	}
	return mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field '%s' is not a valid value.", v.Str(), name)
}

// SeriesSpec is the parsed option timeseries.
type SeriesSpec struct {
	time, meta, granularity string
	span, rounding          int64 // in seconds; 0 if not given
}

// ParseSeries parses the option timeseries. path names it in errors.
func ParseSeries(path string, doc bsonx.Doc, fields []command.Field) (*SeriesSpec, error) {
	s := &SeriesSpec{}
	return s, command.ParseFields(path, doc, fields, func(i int, v bsonx.Value) error {
		switch fields[i].Name {
		case "timeField":
			s.time = v.Str()
		case "metaField":
			s.meta = v.Str()
		case "granularity":
			s.granularity = v.Str()
			return checkGranularity(path+".granularity", v)
		case "bucketMaxSpanSeconds":
			s.span = bsonx.SaturatingInt64(v)
		case "bucketRoundingSeconds":
			s.rounding = bsonx.SaturatingInt64(v)
		}
		return nil
	})
}

// InvalidSeries returns an error about a time series with the code InvalidOptions.
func InvalidSeries(format string, args ...any) error {
	return mongoerr.New(mongoerr.InvalidOptions, format, args...)
}

// notWithSeries returns the error for an option of create that a time series does not support.
func notWithSeries(req *command.Request, option string) error {
	return InvalidSeries("%s.%s: 'timeseries' is not allowed with '%s'", req.DB, req.CommandValue().Str(), option)
}

// Complete checks the options of a time series together, and computes the time span of a bucket
// from the granularity. namespace is for errors.
func (s *SeriesSpec) Complete(namespace string) error {
	for _, field := range []struct{ option, name string }{{"timeField", s.time}, {"metaField", s.meta}} {
		switch {
		case strings.HasPrefix(field.name, "$"):
			return mongoerr.New(mongoerr.BadValue, "The 'timeField' or 'metaField' cannot start with '$'")
		case strings.Contains(field.name, "."):
			return InvalidSeries("%s: '%s' must be a top-level field and not contain a '.'", namespace, field.option)
		}
	}
	switch s.meta {
	case "_id":
		return InvalidSeries("'metaField' cannot be \"_id\"")
	case s.time:
		return InvalidSeries("'metaField' cannot be the same as 'timeField'")
	}
	return s.completeSpan()
}

func (s *SeriesSpec) completeSpan() error {
	if s.granularity == "" && s.span == 0 && s.rounding == 0 {
		s.granularity = timeseries.Granularities[0].Name
	}
	if s.granularity == "" {
		if s.span != s.rounding {
			return InvalidSeries("Time-series 'bucketRoundingSeconds' must be equal to 'bucketMaxSpanSeconds'")
		}
		return nil
	}
	if s.rounding != 0 {
		return InvalidSeries("Time-series 'bucketRoundingSeconds' cannot be set alongside the granularity parameter")
	}
	for _, g := range timeseries.Granularities {
		if g.Name != s.granularity {
			continue
		}
		if s.span != 0 && s.span != g.Span {
			return InvalidSeries("Time-series 'bucketMaxSpanSeconds' cannot be set to a value other than the default of %d for the provided granularity", g.Span)
		}
		s.span = g.Span
	}
	return nil
}

// Stored returns the option in its stored form, which listCollections shows.
func (s *SeriesSpec) Stored() bsonx.Doc {
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

// withSeries are the options of create that a time series supports.
var withSeries = map[string]bool{
	"timeseries": true, "expireAfterSeconds": true, "collation": true,
	"storageEngine": true, "indexOptionDefaults": true,
}

// seriesOptions checks create's options for a time series and returns the options to store.
func seriesOptions(req *command.Request) (bsonx.Doc, error) {
	spec, err := ParseSeries("create.timeseries", req.Doc("timeseries"), TimeseriesFields)
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
	if err := spec.Complete(req.DB + "." + req.CommandValue().Str()); err != nil {
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
		b.Int64("expireAfterSeconds", bsonx.SaturatingInt64(v))
	}
	if co.Doc().Len() > 1 {
		b.Value("collation", co)
	}
	b.Doc("timeseries", spec.Stored())
	if v := req.Get("storageEngine"); !v.IsMissing() && !v.Doc().IsEmpty() {
		b.Value("storageEngine", v) // tools use it to restore the setting timeseriesBucketsMayHaveMixedSchemaData
	}
	b.End()
	return b.Bytes(), nil
}

// createSeries creates a time series with the indexes of FirstIndexes.
func createSeries(s *command.Service, db, name string, options bsonx.Doc) (*table.Collection, error) {
	return schema.CreateTimeseries(s.Store, db, name, options, FirstIndexes(options)...)
}

// FirstIndexes returns the specifications of the indexes of a new time series: one on the metaField
// and the timeField, or none without a metaField.
func FirstIndexes(options bsonx.Doc) []bsonx.Doc {
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
