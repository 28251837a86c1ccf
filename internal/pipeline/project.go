package pipeline

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/passage"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/projection"
)

// project is the stage for $project, $addFields, $set and $unset.
type project struct {
	projection *projection.Projection
	name       string // the name that the client wrote, or $addFields for a part of another stage
	// spec has the fields as the client, or the other stage, wrote them. It is nil for $unset,
	// which lists names.
	spec bsonx.Doc
}

func projectDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$project", Transform: parseProject,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfEachDocument(), Inside: parsing.InsideExpressions,
	}
}

func parseProject(arg bsonx.Value, opts parsing.Options) (parsing.Transformer, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(15969, "$project specification must be an object")
	}
	spec := arg.Doc().Clone()
	p, err := projection.ParseStage(spec, opts.Projection())
	return projectStage("$project", p, spec, err)
}

func addFieldsDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$addFields", Transform: parseAddFields("$addFields"),
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfEachDocument(), Inside: parsing.InsideExpressions,
	}
}

func setDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$set", Transform: parseAddFields("$set"), Note: "alias of $addFields",
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfEachDocument(), Inside: parsing.InsideExpressions,
	}
}

// parseAddFields returns the parser for $addFields or $set. name appears in its error messages.
func parseAddFields(name string) func(arg bsonx.Value, opts parsing.Options) (parsing.Transformer, error) {
	return func(arg bsonx.Value, opts parsing.Options) (parsing.Transformer, error) {
		if arg.Type != bsonx.TypeDocument {
			return nil, mongoerr.New(40272, "%s specification stage must be an object, got %s", name, arg.Type)
		}
		spec := arg.Doc().Clone()
		p, err := projection.ParseAddFields(spec, opts.Projection())
		return projectStage(name, p, spec, err)
	}
}

// addFieldsStage returns an $addFields stage that another stage needs as its part.
func addFieldsStage(spec bsonx.Doc, opts parsing.Options) ([]parsing.Stage, error) {
	p, err := projection.ParseAddFields(spec, opts.Projection())
	s, err := projectStage("$addFields", p, spec, err)
	if err != nil {
		return nil, err
	}
	return []parsing.Stage{s}, nil
}

func unsetDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$unset", Transform: parseUnset,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfEachDocument(), Inside: parsing.InsideNothing,
	}
}

func parseUnset(arg bsonx.Value, opts parsing.Options) (parsing.Transformer, error) {
	paths, err := projection.UnsetPaths(arg)
	if err != nil {
		return nil, err
	}
	p, err := projection.ParseUnset(paths, opts.Projection())
	return projectStage("$unset", p, nil, err)
}

func projectStage(name string, p *projection.Projection, spec bsonx.Doc, err error) (parsing.Transformer, error) {
	if err != nil {
		return nil, mongoerr.Within("Invalid "+name, err)
	}
	return &project{p, name, spec}, nil
}

func (p *project) Open(src source.Source, _ *source.Env) source.Source {
	s := &projectSource{Input: source.Input{Src: src}, projection: p.projection.Applier()}
	s.meta = len(p.projection.MetaKinds()) > 0
	return s
}

// Transform implements parsing.Transformer.
func (p *project) Transform(doc bsonx.Doc) (bsonx.Doc, error) {
	return p.projection.Apply(nil, doc, nil)
}

type projectSource struct {
	source.Input
	projection *projection.Applier
	meta       bool // the projection reads metadata of the documents
	buf        []byte
	// meter checks for interrupts. With hundreds of $project stages, one call of Next copies a
	// document hundreds of times.
	meter interrupt.Meter
}

// Save implements source.Source.
func (s *projectSource) Save() {
	s.buf = source.Idle(s.buf)
	s.projection.Rest()
	s.Input.Save()
}

func (s *projectSource) Next(ctx context.Context) (bsonx.Doc, error) {
	doc, err := s.Src.Next(ctx)
	if err != nil || doc == nil {
		return nil, err
	}
	if s.meta {
		s.projection.SetMeta(source.MetaOf(s.Src))
	}
	if err := s.meter.Passed(ctx, len(doc)); err != nil {
		return nil, err
	}
	s.buf, err = s.projection.Apply(s.buf[:0], doc)
	return s.buf, err
}

// Needs implements parsing.Reader.
func (p *project) Needs(n *parsing.Needs) {
	if n.Many(p.projection.Size()) {
		return
	}
	computed, deps := p.projection.Computed()
	if p.projection.IsInclusion() {
		n.Ordered()
		deps = p.projection.Dependencies()
	}
	n.Dependencies(deps)
	for _, path := range computed {
		n.Define(path)
	}
	if p.projection.IsInclusion() {
		n.End()
	}
}

// IsPerDocument implements parsing.PerDocument.
func (*project) IsPerDocument() bool { return true }

// IsOneToOne implements parsing.OneToOne.
func (*project) IsOneToOne() bool { return true }

// passage implements passer.
func (p *project) passage() passage.Func {
	return passage.OfProjection(p.projection, p.spec)
}

// CanFail implements parsing.Failing.
func (p *project) CanFail() bool {
	return p.projection.NeedsDetails() || len(p.projection.MayFail()) > 0
}

// Explain implements parsing.Stage.
func (p *project) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	return parsing.Forms(bsonx.NewDoc(p.shownName(), p.projection.Serialize(x.Serializer))), nil
}

// shownName returns the name of the stage in explain. $unset appears as $project.
func (p *project) shownName() string {
	if !p.projection.IsAddition() {
		return "$project"
	}
	return p.name
}

// makesFields implements fieldMaker.
func (*projectSource) makesFields() {}
