package pipeline

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/pipeline/foreign"
	"github.com/sheafdb/sheaf/internal/pipeline/output"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// Explained forms of stages that contain pipelines.

// noCollection is the collection name that MongoDB shows for a pipeline whose first stage generates
// documents.
const noCollection = "$cmd.aggregate"

// explorer returns the collections as an Explorer, or nil if they do not implement it.
func (x *Explained) explorer() Explorer {
	if x.env == nil {
		return nil
	}
	e, _ := x.env.Collections.(Explorer)
	return e
}

// sub returns the explained form of a sub-pipeline without running it.
func (x *Explained) sub(ctx context.Context, stages []bsonx.Value, db string, vars *expr.Vars) ([]bsonx.Doc, error) {
	p, err := Parse(bsonx.ValueOf(stages),
		parsing.Options{Vars: vars, Now: x.pipeline.opts.Now, DB: db, Disable: HiddenRules})
	if err != nil {
		return nil, err
	}
	return p.Explain(x.env, x.clock).Stages(ctx)
}

func (x *Explained) lookupForm(ctx context.Context, l *foreign.Lookup, spec bsonx.Doc,
	e expr.Serializer,
) ([]bsonx.Doc, error) {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	from := l.From
	if from == "" {
		from = noCollection
	}
	b.String("from", from)
	b.String("as", strings.Join(l.As, "."))
	if l.Local != nil {
		b.String("localField", strings.Join(l.Local, "."))
		b.String("foreignField", l.Foreign)
	}
	stages := l.Stages
	if explorer := x.explorer(); explorer != nil {
		stages = explorer.Below(l.DB, l.From, stages)
	}
	stages = append(stages[:len(stages):len(stages)], l.Only...)
	if l.Piped || len(stages) > 0 {
		let := spec.Lookup("let").Doc()
		b.StartDocField("let")
		for it := let.Iter(); it.Next(); {
			b.ValueBytes(it.Key(), e.Expression(it.Value()))
		}
		b.End()
		_, vars, err := parsing.ParseLets(let, l.Opts.Vars)
		if err != nil {
			return nil, err
		}
		docs, err := x.sub(ctx, stages, l.DB, vars)
		if err != nil {
			return nil, err
		}
		b.Value("pipeline", bsonx.ValueOf(docs))
	}
	if u := l.Unwind; u != nil {
		b.StartDocField("unwinding")
		b.Bool("preserveNullAndEmptyArrays", u.Keep)
		if u.Index != nil {
			b.String("includeArrayIndex", strings.Join(u.Index, "."))
		}
		b.End()
	}
	b.End()
	return []bsonx.Doc{bsonx.NewDoc("$lookup", bsonx.Doc(b.Bytes()))}, nil
}

func (x *Explained) unionForm(ctx context.Context, u *foreign.UnionWith) ([]bsonx.Doc, error) {
	var docs []bsonx.Doc
	var err error
	if explorer := x.explorer(); explorer != nil && u.Coll != "" {
		docs, err = explorer.Explain(ctx, u.DB, u.Coll, u.Stages, u.Opts.Vars)
	} else {
		docs, err = x.sub(ctx, u.Stages, u.DB, u.Opts.Vars)
	}
	if err != nil {
		return nil, err
	}
	form := bsonx.NewDoc("coll", u.Coll, "pipeline", docs)
	if u.Coll == "" {
		form = bsonx.NewDoc("pipeline", docs)
	}
	return []bsonx.Doc{bsonx.NewDoc("$unionWith", form)}, nil
}

func (x *Explained) facetForm(ctx context.Context, s *explainedStage, f *facet) ([]bsonx.Doc, error) {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for i, name := range f.names {
		inner := explained(f.pipelines[i], x.env, x.clock)
		if i < len(s.inner) {
			inner = s.inner[i]
		}
		docs, err := inner.Stages(ctx)
		if err != nil {
			return nil, err
		}
		b.StartArrayField(name)
		b.StartDocElem()
		b.Doc("$internalFacetTeeConsumer", bsonx.Empty)
		if inner.in != nil {
			appendCounts(b, inner.in.n, inner.in.elapsed)
		}
		b.End()
		for _, doc := range docs {
			b.Elem(bsonx.Document(doc))
		}
		b.End()
	}
	b.End()
	return []bsonx.Doc{bsonx.NewDoc("$facet", bsonx.Doc(b.Bytes()))}, nil
}

func (x *Explained) mergeForm(ctx context.Context, m *output.Merge, e expr.Serializer) ([]bsonx.Doc, error) {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Doc("into", bsonx.NewDoc("db", m.DB, "coll", m.Coll))
	switch len(m.On) {
	case 0:
		b.String("on", "_id")
	case 1:
		b.String("on", m.On[0])
	default:
		b.StartArrayField("on")
		for _, path := range m.On {
			b.Elem(bsonx.String(path))
		}
		b.End()
	}
	if m.WhenMatched == "pipeline" {
		b.StartDocField("let")
		vars := m.Opts.Vars
		for it := m.RawLet.Doc().Iter(); it.Next(); {
			if string(it.Key()) != "new" {
				b.ValueBytes(it.Key(), e.Expression(it.Value()))
				vars, _ = vars.WithSlot(string(it.Key()))
			}
		}
		b.String("new", "$$ROOT")
		b.End()
		vars, _ = vars.WithSlot("new")
		docs, err := x.sub(ctx, m.Stages.Doc().Values(), m.DB, vars)
		if err != nil {
			return nil, err
		}
		b.Value("whenMatched", bsonx.ValueOf(docs))
	} else {
		b.String("whenMatched", m.WhenMatched)
	}
	b.String("whenNotMatched", m.WhenNotMatched)
	b.End()
	return []bsonx.Doc{bsonx.NewDoc("$merge", bsonx.Doc(b.Bytes()))}, nil
}
