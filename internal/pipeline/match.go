package pipeline

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/passage"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// match is the $match stage.
type match struct {
	filter *filter.Filter
	opts   parsing.Options
	never  bool // the filter matches no document
}

func matchDefinition() parsing.Definition {
	properties := parsing.OfEachDocument()
	properties.Metadata = parsing.NoMeta
	return parsing.Definition{
		Name: "$match", Parse: parseMatch, Properties: properties, Inside: insideMatch,
		Safety: parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
	}
}

func parseMatch(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(15959, "the match filter must be an expression in an object")
	}
	if !opts.First() && hasText(arg.Doc(), 0) {
		return nil, mongoerr.New(17313, "$match with $text is only allowed as the first pipeline stage")
	}
	if opts.InFacet() && hasText(arg.Doc(), 0) {
		return nil, errNoScore
	}
	f, err := parseFilter(&opts, arg.Doc())
	if err != nil {
		return nil, err
	}
	return []parsing.Stage{&match{filter: f, opts: opts}}, nil
}

func parseFilter(o *parsing.Options, spec bsonx.Doc) (*filter.Filter, error) {
	return filter.Parse(spec, filter.Options{
		Vars: o.Vars, Now: o.Now, AllowExpr: true, AllowText: true, AllowWhere: o.AllowWhere,
		Collation: o.Collation, Stage: true,
	})
}

// hasText reports whether a filter contains $text at its top level, or nested in $and or $or.
func hasText(d bsonx.Doc, depth int) bool {
	for it := d.Iter(); it.Next(); {
		switch string(it.Key()) {
		case "$text":
			return true
		case "$and", "$or":
			if it.Value().Type != bsonx.TypeArray || depth > limits.DocumentDepth {
				continue
			}
			for _, v := range it.Value().Doc().Values() {
				if v.Type == bsonx.TypeDocument && hasText(v.Doc(), depth+1) {
					return true
				}
			}
		}
	}
	return false
}

func (m *match) Open(src source.Source, _ *source.Env) source.Source {
	if m.never {
		return &nothing{source.Input{Src: src}}
	}
	return &matchSource{Input: source.Input{Src: src}, filter: m.filter}
}

// nothing is a source that yields no documents and does not read its input.
type nothing struct{ source.Input }

// Next implements source.Source.
func (*nothing) Next(context.Context) (bsonx.Doc, error) { return nil, nil }

type matchSource struct {
	source.Input
	filter *filter.Filter
	meter  interrupt.Meter
	work   int // the work of matching the previous document, for meter
}

// matchWork is the work of matching a document, without the bytes of the document. It is high
// because the stages before may take long for each document.
const matchWork = interrupt.Interval / 64

func (s *matchSource) Next(ctx context.Context) (bsonx.Doc, error) {
	for {
		if err := s.meter.Passed(ctx, s.work); err != nil {
			return nil, err
		}
		doc, err := s.Src.Next(ctx)
		if err != nil || doc == nil {
			return nil, err
		}
		s.work = matchWork + len(doc)
		ok, err := s.filter.Match(doc)
		if err != nil {
			return nil, err
		}
		if ok {
			return doc, nil
		}
	}
}

var errNoScore = expr.NoMeta("textScore")

func insideMatch(arg bsonx.Value, w parsing.Walker) { w.Filter(arg) }

// Needs implements parsing.Reader.
func (m *match) Needs(n *parsing.Needs) {
	p := passage.Predicate{}
	p.Read(m.filter.Root)
	if p.Fixed {
		n.Whole()
	}
	for _, path := range p.Paths {
		n.Field(path)
	}
}

// IsPerDocument implements parsing.PerDocument.
func (*match) IsPerDocument() bool { return true }

// Explain implements parsing.Stage.
func (m *match) Explain(ctx context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	shown, err := filter.SerializeWithin(ctx, m.filter.Normalize().Root)
	return parsing.Forms(bsonx.NewDoc("$match", shown)), err
}

// CanFail implements parsing.Failing.
func (m *match) CanFail() bool {
	return slices.ContainsFunc(m.predicates(), func(p passage.Predicate) bool { return p.CanFail || p.Fixed })
}

// isNoop implements noop.
func (m *match) isNoop(parsing.Stage) bool { return m.filter.Spec().IsEmpty() }
