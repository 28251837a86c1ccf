package pipeline

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// UnpackBucket is the name of the stage that unpacks the measurements from the buckets of a
// time-series collection. Commands on such a collection put it before their stages.
const UnpackBucket = "$_internalUnpackBucket"

// MongoDB's error codes for mistakes in the specification of the stage.
const (
	codeUnpackSpec      = mongoerr.Code(5346500)
	codeUnpackFields    = mongoerr.Code(5346501)
	codeUnpackFieldType = mongoerr.Code(5346502)
	codeUnpackTwice     = mongoerr.Code(5408000)
	codeUnpackTimeType  = mongoerr.Code(5346504)
	codeUnpackMetaType  = mongoerr.Code(5346505)
	codeUnpackUnknown   = mongoerr.Code(5346506)
	codeUnpackNoTime    = mongoerr.Code(5346508)
)

// unpackBucket is the $_internalUnpackBucket stage.
type unpackBucket struct {
	opts             timeseries.Options
	wanted, unwanted map[string]bool
	events           *match // the filter for measurements; nil accepts all
	pruner           *timeseries.Pruner
}

func unpackBucketDefinition() parsing.Definition {
	return parsing.Definition{
		Name: UnpackBucket, Parse: parseUnpackBucket,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfDocuments(), Inside: parsing.InsideNothing, Internal: true,
	}
}

func parseUnpackBucket(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(codeUnpackSpec, "$_internalUnpackBucket specification must be an object, got: %s", arg.Type)
	}
	u := &unpackBucket{}
	for it := arg.Doc().Iter(); it.Next(); {
		if err := u.option(string(it.Key()), it.Value(), opts); err != nil {
			return nil, err
		}
	}
	if u.opts.Time == "" {
		return nil, mongoerr.New(codeUnpackNoTime, "The $_internalUnpackBucket stage requires a timeField parameter")
	}
	if u.events != nil && opts.Collation == nil {
		u.pruner = u.opts.NewPruner(u.events.filter.Spec())
	}
	return []parsing.Stage{u}, nil
}

func (u *unpackBucket) option(name string, v bsonx.Value, opts parsing.Options) (err error) {
	switch name {
	case "include", "exclude":
		if u.wanted != nil || u.unwanted != nil {
			return mongoerr.New(codeUnpackTwice, "The $_internalUnpackBucket stage expects at most one of include/exclude parameters to be specified")
		}
		fields, err := fieldSet(v)
		if name == "include" {
			u.wanted = fields
		} else {
			u.unwanted = fields
		}
		return err
	case "timeField":
		u.opts.Time, err = fieldName(name, v, codeUnpackTimeType)
	case "metaField":
		u.opts.Meta, err = fieldName(name, v, codeUnpackMetaType)
	case "eventFilter":
		var stages []parsing.Stage
		if stages, err = parseMatch(v, opts); err == nil {
			u.events = stages[0].(*match)
		}
	case "bucketMaxSpanSeconds", "fixedBuckets", "assumeNoMixedSchemaData", "usesExtendedRange":
	default:
		return mongoerr.New(codeUnpackUnknown, "unrecognized parameter to $_internalUnpackBucket: %s", name)
	}
	return err
}

func fieldName(name string, v bsonx.Value, code mongoerr.Code) (string, error) {
	if v.Type != bsonx.TypeString {
		return "", mongoerr.New(code, "%s field must be a string, got: %s", name, v.Type)
	}
	return v.Str(), nil
}

func fieldSet(v bsonx.Value) (map[string]bool, error) {
	if v.Type != bsonx.TypeArray {
		return nil, mongoerr.New(codeUnpackFields, "include or exclude field must be an array, got: %s", v.Type)
	}
	fields := map[string]bool{}
	for it := v.Doc().Iter(); it.Next(); {
		if it.Value().Type != bsonx.TypeString {
			return nil, mongoerr.New(codeUnpackFieldType, "include or exclude field element must be a string, got: %s", it.Value().Type)
		}
		fields[it.Value().Str()] = true
	}
	return fields, nil
}

func (u *unpackBucket) Open(src source.Source, _ *source.Env) source.Source {
	return &unpackSource{
		Input: source.Input{Src: src}, stage: u,
		unpacker: timeseries.NewUnpacker(&u.opts, u.wanted, u.unwanted),
	}
}

type unpackSource struct {
	source.Input
	stage    *unpackBucket
	unpacker *timeseries.Unpacker
}

// Next implements source.Source. It checks the context only between buckets, because a bucket has
// few measurements.
func (s *unpackSource) Next(ctx context.Context) (bsonx.Doc, error) {
	for {
		doc := s.unpacker.Next()
		if doc == nil {
			bucket, err := s.Src.Next(ctx)
			if err != nil || bucket == nil {
				return nil, err
			}
			if s.stage.pruner.Skips(bucket) {
				continue
			}
			if err := s.unpacker.Start(bucket); err != nil {
				return nil, err
			}
			continue
		}
		if s.stage.events == nil {
			return doc, nil
		}
		ok, err := s.stage.events.filter.Match(doc)
		if err != nil {
			return nil, err
		}
		if ok {
			return doc, nil
		}
	}
}

// Save implements source.Source. It copies the rest of the current bucket.
func (s *unpackSource) Save() {
	s.unpacker.Detach()
	s.Input.Save()
}

// Kept implements memory.Keeper.
func (s *unpackSource) Kept() int64 { return s.unpacker.Kept() + s.Input.Kept() }

// IsPerDocument implements parsing.PerDocument.
func (*unpackBucket) IsPerDocument() bool { return true }

// Explain implements parsing.Stage.
func (*unpackBucket) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	return x.AsWritten(), nil
}
