package pipeline

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/projection"
)

// documents is the $documents stage. It yields the elements of an array.
type documents struct {
	array expr.Expr
	opts  parsing.Options
}

// documentsField is the field that contains the array in MongoDB's implementation, a $project
// followed by an $unwind. Error messages and explain show the name.
const documentsField = "_tempDocumentsField"

func documentsDefinition() parsing.Definition {
	properties := parsing.OfDocuments()
	properties.Input = parsing.FromServer
	properties.Facets = feature.No
	return parsing.Definition{
		Name: "$documents", Parse: parseDocuments, Properties: properties,
		Safety: parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Inside: parsing.InsideNothing,
	}
}

func parseDocuments(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	if arg.Type == bsonx.TypeDocument {
		if _, err := projection.ParseStage(bsonx.NewDoc(documentsField, arg), opts.Projection()); err != nil {
			return nil, mongoerr.Within("Invalid $documents", err)
		}
	}
	e, err := expr.Parse(arg.Clone(), opts.Vars)
	if err != nil {
		return nil, mongoerr.Within("Invalid $documents", err)
	}
	return []parsing.Stage{&documents{e, opts}}, nil
}

func (d *documents) Open(src source.Source, _ *source.Env) source.Source {
	return &documentsSource{Input: source.Input{Src: src}, stage: d}
}

type documentsSource struct {
	source.Input
	stage *documents
	read  bool
	elems bsonx.Iter
	bytes int64 // the memory of the array; 0 after the last element
}

// Kept implements memory.Keeper.
func (s *documentsSource) Kept() int64 { return s.bytes + s.Input.Kept() }

// Next implements source.Source.
func (s *documentsSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if !s.read {
		s.read = true
		v, err := s.stage.array.Eval(&expr.Context{Root: bsonx.Document(bsonx.Empty), Now: s.stage.opts.Now})
		if err != nil {
			return nil, err
		}
		if v.Type != bsonx.TypeArray {
			return nil, mongoerr.New(5858203, "an array is expected")
		}
		// The bytes count twice, because a constant expression keeps the array too.
		s.elems, s.bytes = *v.Clone().Doc().Iter(), 2*int64(len(v.Data))
	}
	if !s.elems.Next() {
		s.elems, s.bytes = bsonx.Iter{}, 0
		return nil, nil
	}
	v := s.elems.Value()
	if v.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(40228, "elements within the array passed to $documents must evaluate to an object, but resulting value was: %s. "+
			"Type of resulting value: '%s'. Input document: {%s: %s}", expr.Show(v),
			v.Type, documentsField, expr.Show(v))
	}
	return v.Doc(), nil
}

// Explain implements parsing.Stage.
func (*documents) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	forms := parsing.Forms(
		bsonx.NewDoc("$queue", bsonx.NewArray(bsonx.Empty)),
		bsonx.NewDoc("$project", bsonx.NewDoc("_id", true, documentsField, x.Expression(x.Spec))),
		bsonx.NewDoc("$unwind", bsonx.NewDoc("path", "$"+documentsField)),
		bsonx.NewDoc("$replaceRoot", bsonx.NewDoc("newRoot", "$"+documentsField)),
	)
	forms[0].Returned, forms[1].Returned = 1, 1
	return forms, nil
}
