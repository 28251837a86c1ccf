package output

import (
	"context"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// out is the compiled $out stage.
type out struct{ source.Out }

// OutDefinition returns the definition of $out.
func OutDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$out", Parse: parseOut,
		Safety:     parsing.Safety{Writes: feature.Yes, Transactions: feature.No, StableAPI: parsing.EveryUse},
		Properties: parsing.OfWriter(), Inside: parsing.InsideNothing, NotExplained: 51029,
	}
}

// parseOut compiles the argument of $out.
func parseOut(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	o := &out{source.Out{DB: opts.DB}}
	switch arg.Type {
	case bsonx.TypeString:
		o.Coll = arg.Str()
	case bsonx.TypeDocument:
		if err := o.read(arg.Doc()); err != nil {
			return nil, err
		}
	default:
		return nil, mongoerr.New(16990, "$out only supports a string or object argument, but found %s", arg.Type)
	}
	if o.Coll == "" {
		return nil, mongoerr.New(mongoerr.InvalidNamespace, "Invalid $out target namespace, %s", o.DB)
	}
	if err := parsing.CheckCollection(o.Coll); err != nil {
		return nil, err
	}
	if isInternal(o.DB) {
		return nil, mongoerr.New(31321, "Can't $out to internal database: %s", o.DB)
	}
	if strings.HasPrefix(o.Coll, "system.") {
		return nil, mongoerr.New(17385, "Can't $out to special collection: %s", o.Coll)
	}
	return []parsing.Stage{o}, nil
}

func (o *out) read(spec bsonx.Doc) error {
	fields := map[string]*string{"db": &o.DB, "coll": &o.Coll}
	for it := spec.Iter(); it.Next(); {
		name, v := string(it.Key()), it.Value()
		if name == "timeseries" {
			if v.IsNull() {
				continue // null counts as absent
			}
			if err := checkTimeseries(v); err != nil {
				return err
			}
			if v.Type == bsonx.TypeDocument {
				o.Timeseries = v.Doc().Clone()
			}
			continue
		}
		into, ok := fields[name]
		if !ok {
			return mongoerr.New(mongoerr.IDLUnknownField, "BSON field '$out.%s' is an unknown field.", name)
		}
		if v.IsNull() {
			continue // null counts as absent
		}
		if v.Type != bsonx.TypeString {
			return mongoerr.New(mongoerr.TypeMismatch, "BSON field '$out.%s' is the wrong type '%s', expected type 'string'", name, v.Type)
		}
		*into = v.Str()
	}
	for _, name := range []string{"db", "coll"} {
		if spec.Lookup(name).IsNull() {
			return mongoerr.New(mongoerr.IDLFailedToParse, "BSON field '$out.%s' is missing but a required field", name)
		}
	}
	return nil
}

// checkTimeseries returns an error unless v is a valid time-series specification.
func checkTimeseries(v bsonx.Value) error {
	if err := parsing.CheckObject("$out.timeseries", v, true); err != nil {
		return err
	}
	spec, err := parsing.Fields("$out.timeseries", v.Doc(), "timeField", "metaField", "granularity",
		"bucketMaxSpanSeconds", "bucketRoundingSeconds")
	if err != nil {
		return err
	}
	if err := parsing.CheckString("$out.timeseries.timeField", spec[0], true); err != nil {
		return err
	}
	if err := parsing.CheckString("$out.timeseries.metaField", spec[1], false); err != nil {
		return err
	}
	if err := parsing.CheckString("$out.timeseries.granularity", spec[2], false); err != nil || spec[2].IsNull() {
		return err
	}
	if !slices.Contains([]string{"seconds", "minutes", "hours"}, spec[2].Str()) {
		return mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field '$out.timeseries.granularity' is not a valid value.", spec[2].Str())
	}
	return nil
}

// isInternal reports whether db is a database of the server itself, to which pipelines must not
// write.
func isInternal(db string) bool { return db == "admin" || db == "config" || db == "local" }

// Open implements parsing.Stage.
func (o *out) Open(src source.Source, env *source.Env) source.Source {
	return &writerSource{
		Input: source.Input{Src: src},
		write: func(ctx context.Context, w source.Writer) error { return w.Out(ctx, &o.Out, src) }, env: env,
	}
}

// writerSource writes its whole input at the first call of Next, and yields no documents.
type writerSource struct {
	source.Input
	env   *source.Env
	write func(ctx context.Context, w source.Writer) error
	done  bool
}

// Next implements source.Source.
func (s *writerSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if s.done {
		return nil, nil
	}
	s.done = true
	if s.env == nil || s.env.Writer == nil {
		return nil, mongoerr.New(mongoerr.InternalError, "nothing can be written here")
	}
	return nil, s.write(ctx, s.env.Writer)
}

// Explain implements parsing.Stage.
func (o *out) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	return parsing.Forms(bsonx.NewDoc("$out", bsonx.NewDoc("coll", o.Coll, "db", o.DB))), nil
}
