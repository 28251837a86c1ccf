package pipeline

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/projection"
)

// replaceRoot is the stage for $replaceRoot and $replaceWith.
type replaceRoot struct {
	name    string
	newRoot expr.Expr
	now     time.Time
}

func replaceRootDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$replaceRoot", Transform: parseReplaceRoot,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfEachDocument(), Inside: parsing.InsideExpressions,
	}
}

func parseReplaceRoot(arg bsonx.Value, opts parsing.Options) (parsing.Transformer, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(40229, "expected an object as specification for $replaceRoot stage, got %s", arg.Type)
	}
	var newRoot bsonx.Value
	for it := arg.Doc().Iter(); it.Next(); {
		if string(it.Key()) != "newRoot" {
			return nil, mongoerr.New(mongoerr.IDLUnknownField,
				"BSON field '$replaceRoot.%s' is an unknown field.", it.Key())
		}
		newRoot = it.Value()
	}
	if newRoot.IsMissing() {
		return nil, mongoerr.New(mongoerr.IDLFailedToParse,
			"BSON field '$replaceRoot.newRoot' is missing but a required field")
	}
	return parseNewRoot("'newRoot' expression ", newRoot, opts)
}

func replaceWithDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$replaceWith", Transform: parseReplaceWith,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfEachDocument(), Inside: parsing.InsideExpressions,
	}
}

func parseReplaceWith(arg bsonx.Value, opts parsing.Options) (parsing.Transformer, error) {
	return parseNewRoot("'replacement document' ", arg, opts)
}

func parseNewRoot(name string, arg bsonx.Value, opts parsing.Options) (parsing.Transformer, error) {
	e, err := expr.Parse(arg, opts.Vars)
	if err != nil {
		return nil, err
	}
	return &replaceRoot{name, e, opts.Now}, nil
}

// replace evaluates the new root for doc. It fails if the result is not a document. If narrow is
// true, the error message shows only the fields of doc that the expression reads.
func (r *replaceRoot) replace(ctx *expr.Context, doc bsonx.Doc, narrow bool) (bsonx.Doc, error) {
	ctx.Root, ctx.Now = bsonx.Document(doc), r.now
	v, err := r.newRoot.Eval(ctx)
	if err != nil {
		return nil, err
	}
	if v.Type != bsonx.TypeDocument {
		if narrow {
			doc = r.read(doc)
		}
		return nil, mongoerr.New(40228, "%s must evaluate to an object, but resulting value was: %s. Type of resulting value: '%s'. Input document: %s",
			r.name, expr.Show(v), v.Type, expr.Show(bsonx.Document(doc)))
	}
	return v.Doc(), nil
}

// Transform implements parsing.Transformer.
func (r *replaceRoot) Transform(doc bsonx.Doc) (bsonx.Doc, error) {
	return r.replace(&expr.Context{}, doc, false)
}

// read returns doc with only the fields that the stage reads. In MongoDB other fields do not reach
// the stage, unless an earlier stage created them.
func (r *replaceRoot) read(doc bsonx.Doc) bsonx.Doc {
	var deps expr.Dependencies
	deps.Depend(r.newRoot)
	if deps.WholeDocument {
		return doc
	}
	spec := bsonx.NewBuilder(nil)
	spec.StartDoc()
	slices.Sort(deps.Paths)
	withID := false
	for _, path := range slices.Compact(deps.Paths) {
		withID = withID || path == "_id" || strings.HasPrefix(path, "_id.")
		spec.Value(path, bsonx.Int32(1))
	}
	if !withID {
		spec.Value("_id", bsonx.Int32(0))
	}
	spec.End()
	if len(deps.Paths) == 0 {
		return bsonx.Empty
	}
	p, err := projection.ParseStage(spec.Bytes(), projection.Options{})
	if err != nil {
		return doc
	}
	fields, err := p.Apply(nil, doc, nil)
	if err != nil {
		return doc
	}
	return fields
}

func (r *replaceRoot) Open(src source.Source, _ *source.Env) source.Source {
	return &replaceSource{Input: source.Input{Src: src}, stage: r, narrow: !makesFields(src)}
}

// fieldMaker is a source of documents with exactly the fields that its stage determines.
type fieldMaker interface{ makesFields() }

// makesFields reports whether src is a fieldMaker.
func makesFields(src source.Source) bool {
	_, ok := src.(fieldMaker)
	return ok
}

type replaceSource struct {
	source.Input
	stage  *replaceRoot
	narrow bool
	ctx    expr.Context
}

// Save implements source.Source.
func (s *replaceSource) Save() {
	s.ctx.Rest()
	s.Input.Save()
}

func (s *replaceSource) Next(ctx context.Context) (bsonx.Doc, error) {
	doc, err := s.Src.Next(ctx)
	if err != nil || doc == nil {
		return nil, err
	}
	s.ctx.Meta = source.MetaOf(s.Src)
	return s.stage.replace(&s.ctx, doc, s.narrow)
}

// Needs implements parsing.Reader.
func (r *replaceRoot) Needs(n *parsing.Needs) {
	n.Expr(r.newRoot)
	n.End()
}

// IsPerDocument implements parsing.PerDocument.
func (*replaceRoot) IsPerDocument() bool { return true }

// IsOneToOne implements parsing.OneToOne.
func (*replaceRoot) IsOneToOne() bool { return true }

// Explain implements parsing.Stage.
func (*replaceRoot) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	newRoot := x.Spec
	if x.Name == "$replaceRoot" {
		newRoot = x.Spec.Doc().Lookup("newRoot")
	}
	return parsing.Forms(bsonx.NewDoc("$replaceRoot", bsonx.NewDoc("newRoot", x.Expression(newRoot)))), nil
}

// isNoop implements noop.
func (r *replaceRoot) isNoop(parsing.Stage) bool { return expr.IsRoot(r.newRoot) }
