package pipeline

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// redact is the $redact stage. Its expression decides for each document, and for each document
// nested in it, whether to keep it, drop it or descend into it. The variables $$DESCEND, $$PRUNE
// and $$KEEP are strings, as in MongoDB.
type redact struct {
	decide  expr.Expr
	current int // the slot of the variable CURRENT, the document that is being decided on
	opts    parsing.Options
}

const (
	redactDescend = "descend"
	redactPrune   = "prune"
	redactKeep    = "keep"
)

func redactDefinition() parsing.Definition {
	properties := parsing.OfEachDocument()
	properties.Metadata = parsing.AnyMeta
	return parsing.Definition{
		Name: "$redact", Parse: parseRedact, Properties: properties, Inside: parsing.InsideExpressions,
		Safety: parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
	}
}

func parseRedact(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	vars, slot := opts.Vars.WithSlot("CURRENT")
	for name, value := range map[string]string{"DESCEND": redactDescend, "PRUNE": redactPrune, "KEEP": redactKeep} {
		vars = vars.WithConst(name, bsonx.String(value))
	}
	decide, err := expr.Parse(arg, vars)
	if err != nil {
		return nil, err
	}
	return []parsing.Stage{&redact{decide, slot, opts}}, nil
}

func (r *redact) Open(src source.Source, _ *source.Env) source.Source {
	return &redactSource{
		Input: source.Input{Src: src}, redact: r, out: bsonx.NewBuilder(nil),
		ctx: expr.Context{Now: r.opts.Now},
	}
}

type redactSource struct {
	source.Input
	redact *redact
	ctx    expr.Context
	out    *bsonx.Builder
	meter  interrupt.Meter
	work   int // the work on the previous document, for meter

	running interrupt.Running
}

// Save implements source.Source.
func (s *redactSource) Save() {
	source.IdleBuilder(s.out)
	s.ctx.Rest()
	s.ctx.Bind(s.redact.current, bsonx.Missing)
	s.Input.Save()
}

// Next implements source.Source.
func (s *redactSource) Next(ctx context.Context) (bsonx.Doc, error) {
	s.running.Set(ctx)
	for {
		if err := s.meter.Passed(ctx, s.work); err != nil {
			return nil, err
		}
		doc, err := s.Src.Next(ctx)
		if err != nil || doc == nil {
			return nil, err
		}
		s.work = interrupt.Document + len(doc)
		s.ctx.Root, s.ctx.Meta = bsonx.Document(doc), s.Meta()
		out, err := s.document(doc)
		if err != nil || out != nil {
			return out, err
		}
	}
}

// document returns the redacted document, or nil if it was pruned.
func (s *redactSource) document(doc bsonx.Doc) (bsonx.Doc, error) {
	verdict, err := s.verdict(doc)
	if err != nil || verdict == redactPrune {
		return nil, err
	}
	if verdict == redactKeep {
		return doc, nil
	}
	s.out.Reset(s.out.Bytes()[:0])
	s.out.StartDoc()
	if err := s.fields(doc); err != nil {
		return nil, err
	}
	s.out.End()
	return s.out.Bytes(), nil
}

func (s *redactSource) verdict(doc bsonx.Doc) (string, error) {
	s.ctx.Bind(s.redact.current, bsonx.Document(doc))
	v, err := s.redact.decide.Eval(&s.ctx)
	if err != nil {
		return "", err
	}
	if v.Type == bsonx.TypeString {
		switch string(v.StrBytes()) {
		case redactDescend:
			return redactDescend, nil
		case redactPrune:
			return redactPrune, nil
		case redactKeep:
			return redactKeep, nil
		}
	}
	return "", mongoerr.New(17053, "$redact's expression should not return anything "+
		"aside from the variables $$KEEP, $$DESCEND, and $$PRUNE, but returned %s", expr.Show(v))
}

// fields writes the fields of doc that remain. The recursion is bounded by the maximum nesting
// depth of BSON documents.
func (s *redactSource) fields(doc bsonx.Doc) error {
	for it := doc.Iter(); it.Next(); {
		if err := s.meter.Did(interrupt.Step, &s.running); err != nil {
			return err
		}
		var err error
		switch v := it.Value(); v.Type {
		case bsonx.TypeDocument:
			err = s.nested(string(it.Key()), v)
		case bsonx.TypeArray:
			s.out.StartArrayField(string(it.Key()))
			err = s.elements(v.Doc())
			s.out.End()
		default:
			s.out.ValueBytes(it.Key(), v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nested writes the field key with the document v, unless v is pruned.
func (s *redactSource) nested(key string, v bsonx.Value) error {
	verdict, err := s.verdict(v.Doc())
	switch {
	case err != nil || verdict == redactPrune:
		return err
	case verdict == redactKeep:
		s.out.Value(key, v)
		return nil
	}
	s.out.StartDocField(key)
	err = s.fields(v.Doc())
	s.out.End()
	return err
}

// elements writes the elements of an array that remain. It keeps scalars and descends into nested
// arrays.
func (s *redactSource) elements(array bsonx.Doc) error {
	for it := array.Iter(); it.Next(); {
		if err := s.meter.Did(interrupt.Step, &s.running); err != nil {
			return err
		}
		v := it.Value()
		switch v.Type {
		case bsonx.TypeDocument:
			if err := s.element(v); err != nil {
				return err
			}
		case bsonx.TypeArray:
			s.out.StartArrayElem()
			err := s.elements(v.Doc())
			s.out.End()
			if err != nil {
				return err
			}
		default:
			s.out.Elem(v)
		}
	}
	return nil
}

// element writes an array element that is a document, unless it is pruned.
func (s *redactSource) element(v bsonx.Value) error {
	verdict, err := s.verdict(v.Doc())
	switch {
	case err != nil || verdict == redactPrune:
		return err
	case verdict == redactKeep:
		s.out.Elem(v)
		return nil
	}
	s.out.StartDocElem()
	err = s.fields(v.Doc())
	s.out.End()
	return err
}

// Meta implements source.MetaSource. A redacted document keeps the distance and sort key of
// $geoNear, but not its text score and point.
func (s *redactSource) Meta() *expr.Meta {
	if m := source.MetaOf(s.Src); m != nil && !m.GeoDistance.IsMissing() {
		return &expr.Meta{GeoDistance: m.GeoDistance, SortKey: m.SortKey}
	}
	return source.WithoutScore(s.Src)
}

// IsPerDocument implements parsing.PerDocument.
func (*redact) IsPerDocument() bool { return true }

// Explain implements parsing.Stage.
func (*redact) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	return parsing.Forms(bsonx.NewDoc("$redact", x.Expression(x.Spec))), nil
}
