package pipeline

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// replaceRoot is $replaceRoot and $replaceWith.
type replaceRoot struct {
	name    string
	newRoot expr.Expr
	now     time.Time
}

func parseReplaceRoot(arg bsonx.Value, opts Options) ([]stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(40229, "expected an object as specification for $replaceRoot stage, got %s", arg.Type)
	}
	var newRoot bsonx.Value
	for it := arg.Doc().Iter(); it.Next(); {
		if string(it.Key()) != "newRoot" {
			return nil, mongoerr.New(40415, "BSON field '$replaceRoot.%s' is an unknown field.", it.Key())
		}
		newRoot = it.Value()
	}
	if newRoot.IsMissing() {
		return nil, mongoerr.New(40414, "BSON field '$replaceRoot.newRoot' is missing but a required field")
	}
	return parseNewRoot("'newRoot' expression ", newRoot, opts)
}

func parseReplaceWith(arg bsonx.Value, opts Options) ([]stage, error) {
	return parseNewRoot("'replacement document' ", arg, opts)
}

func parseNewRoot(name string, arg bsonx.Value, opts Options) ([]stage, error) {
	e, err := expr.Parse(arg, opts.Vars)
	if err != nil {
		return nil, err
	}
	return []stage{&replaceRoot{name, e, opts.Now}}, nil
}

func (r *replaceRoot) replace(ctx *expr.Context, doc bsonx.Doc) (bsonx.Doc, error) {
	ctx.Root, ctx.Now = bsonx.Document(doc), r.now
	v, err := r.newRoot.Eval(ctx)
	if err != nil {
		return nil, err
	}
	if v.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(40228, "%smust evaluate to an object, but resulting value was: %s. Type of resulting value: '%s'. Input document: %s",
			r.name, expr.Show(v), v.Type, expr.Show(bsonx.Document(doc)))
	}
	return v.Doc(), nil
}

func (r *replaceRoot) transform(doc bsonx.Doc) (bsonx.Doc, error) {
	return r.replace(&expr.Context{}, doc)
}

func (r *replaceRoot) open(src Source, _ *Env) Source {
	return &replaceSource{input: input{src}, stage: r}
}

type replaceSource struct {
	input
	stage *replaceRoot
	ctx   expr.Context
}

// Save implements Source.
func (s *replaceSource) Save() {
	s.ctx.Rest()
	s.input.Save()
}

func (s *replaceSource) Next(ctx context.Context) (bsonx.Doc, error) {
	doc, err := s.src.Next(ctx)
	if err != nil || doc == nil {
		return nil, err
	}
	s.ctx.Meta = metaOf(s.src)
	return s.stage.replace(&s.ctx, doc)
}
