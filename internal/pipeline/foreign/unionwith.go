package foreign

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// UnionWith is the compiled $unionWith. It yields the documents of another collection after the
// input documents.
type UnionWith struct {
	DB, Coll string // Coll is empty if the first stage of the pipeline generates the documents
	Stages   []bsonx.Value
	Opts     parsing.Options
}

// UnionWithDefinition returns the definition of $unionWith.
func UnionWithDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$unionWith", Parse: parseUnionWith,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfDocuments(), Inside: insideJoin, Foreign: []string{"pipeline"},
	}
}

// parseUnionWith compiles the argument of $unionWith.
func parseUnionWith(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	u := &UnionWith{DB: opts.DB, Opts: opts}
	switch arg.Type {
	case bsonx.TypeString:
		u.Coll = arg.Str()
		return []parsing.Stage{u}, u.checkColl()
	case bsonx.TypeDocument:
		return []parsing.Stage{u}, u.read(arg.Doc())
	default:
		return nil, mongoerr.New(mongoerr.FailedToParse, "the $unionWith stage specification must be an object or string, but found %s", arg.Type)
	}
}

// checkColl returns an error if no collection can have the name.
func (u *UnionWith) checkColl() error {
	if u.Coll == "" {
		return mongoerr.New(mongoerr.InvalidNamespace, "Namespace %sis not a valid collection name", u.DB)
	}
	return parsing.CheckCollection(u.Coll)
}

func (u *UnionWith) read(spec bsonx.Doc) error {
	var coll, pipeline bsonx.Value
	for it := spec.Iter(); it.Next(); {
		v := it.Value()
		switch name := string(it.Key()); name {
		case "coll":
			if v.IsNull() {
				break
			}
			if coll = v; v.Type != bsonx.TypeString {
				return mongoerr.New(mongoerr.TypeMismatch, "BSON field '$unionWith.coll' is the wrong type '%s', expected type 'string'", v.Type)
			}
		case "pipeline":
			if pipeline = v; v.Type != bsonx.TypeArray {
				return mongoerr.New(mongoerr.TypeMismatch, "A pipeline must be an array of objects")
			}
		default:
			return mongoerr.New(mongoerr.IDLUnknownField, "BSON field '$unionWith.%s' is an unknown field.", name)
		}
	}
	if coll.IsMissing() {
		if pipeline.IsMissing() || parsing.FirstStage(pipeline.Doc()) != "$documents" {
			return mongoerr.New(mongoerr.FailedToParse, "$unionWith stage without explicit collection must have a pipeline with $documents as first stage")
		}
	} else {
		u.Coll = coll.Str()
		if err := u.checkColl(); err != nil {
			return err
		}
	}
	if pipeline.IsMissing() {
		return nil
	}
	u.Stages = pipeline.Clone().Doc().Values()
	_, err := parsing.ParseSub(pipeline, u.Opts, parsing.TopOf(u.Coll), parsing.InUnionWith)
	return err
}

// Open implements parsing.Stage.
func (u *UnionWith) Open(src source.Source, env *source.Env) source.Source {
	return &unionSource{Input: source.Input{Src: src}, union: u, env: env}
}

type unionSource struct {
	source.Input
	union *UnionWith
	env   *source.Env
	other source.Source // the source of the other collection; nil before the end of the input
}

// Next implements source.Source.
func (s *unionSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if s.other == nil {
		doc, err := s.Src.Next(ctx)
		if err != nil || doc != nil {
			return doc, err
		}
		s.other, err = s.env.Open(ctx, s.union.DB, s.union.Coll, s.union.Stages, s.union.Opts.Vars)
		if err != nil {
			return nil, err
		}
	}
	return s.other.Next(ctx)
}

// Save implements source.Source.
func (s *unionSource) Save() {
	s.Input.Save()
	if s.other != nil {
		s.other.Save()
	}
}

// Kept implements memory.Keeper.
func (s *unionSource) Kept() int64 { return s.Input.Kept() + memory.KeptBy(s.other) }

// Restore implements source.Source.
func (s *unionSource) Restore(ctx context.Context) error {
	if err := s.Input.Restore(ctx); err != nil || s.other == nil {
		return err
	}
	return s.other.Restore(ctx)
}

// Close implements source.Source.
func (s *unionSource) Close() {
	s.Input.Close()
	if s.other != nil {
		s.other.Close()
	}
}

// Meta implements source.MetaSource. After a text search, documents of the other collection may
// lack a score.
func (s *unionSource) Meta() *expr.Meta {
	if s.other == nil {
		return s.Input.Meta()
	}
	meta, none := source.MetaOf(s.other), source.WithoutScore(s.Src)
	if meta != nil && (meta.Searched || none == nil) {
		return meta
	}
	return none
}

// Changes implements parsing.Changer. The stage adds documents and changes no fields.
func (*UnionWith) Changes() (fields []string, drops, ok bool) { return nil, false, true }

// Explain implements parsing.Stage.
func (u *UnionWith) Explain(ctx context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	docs, err := x.Over(ctx, u.DB, u.Coll, u.Stages, u.Opts.Vars)
	if err != nil {
		return nil, err
	}
	form := bsonx.NewDoc("coll", u.Coll, "pipeline", docs)
	if u.Coll == "" {
		form = bsonx.NewDoc("pipeline", docs)
	}
	return parsing.Forms(bsonx.NewDoc("$unionWith", form)), nil
}
