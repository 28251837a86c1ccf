package pipeline

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/projection"
)

// project is $project, $addFields, $set and $unset.
type project struct{ projection *projection.Projection }

func parseProject(arg bsonx.Value, opts Options) ([]stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(15969, "$project specification must be an object")
	}
	return projectStage(projection.ParseStage(arg.Doc().Clone(), opts.projection()))
}

func parseAddFields(arg bsonx.Value, opts Options) ([]stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(40272, "$addFields specification stage must be an object, got %s", arg.Type)
	}
	return projectStage(projection.ParseAddFields(arg.Doc().Clone(), opts.projection()))
}

func parseUnset(arg bsonx.Value, _ Options) ([]stage, error) {
	return projectStage(projection.ParseUnset(arg))
}

func projectStage(p *projection.Projection, err error) ([]stage, error) {
	if err != nil {
		return nil, err
	}
	return []stage{&project{p}}, nil
}

func (p *project) open(src Source, _ *Env) Source {
	s := &projectSource{input: input{src}, projection: p.projection.Applier()}
	s.meta = len(p.projection.MetaKinds()) > 0
	return s
}

func (p *project) transform(doc bsonx.Doc) (bsonx.Doc, error) {
	return p.projection.Apply(nil, doc, nil)
}

type projectSource struct {
	input
	projection *projection.Applier
	meta       bool // it reads metadata
	buf        []byte
}

func (s *projectSource) Next(ctx context.Context) (bsonx.Doc, error) {
	doc, err := s.src.Next(ctx)
	if err != nil || doc == nil {
		return nil, err
	}
	if s.meta {
		s.projection.SetMeta(metaOf(s.src))
	}
	s.buf, err = s.projection.Apply(s.buf[:0], doc)
	return s.buf, err
}
