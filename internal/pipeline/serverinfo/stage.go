package serverinfo

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// stage is a compiled stage whose documents come from the server.
type stage struct {
	Name string
	Arg  bsonx.Doc
	// report is the method of Diagnostics that returns the documents.
	report func(source.Diagnostics, context.Context, bsonx.Doc) ([]bsonx.Doc, error)
}

// Open implements parsing.Stage.
func (d *stage) Open(src source.Source, env *source.Env) source.Source {
	s := &diagnosticsSource{Input: source.Input{Src: src}, stage: d}
	if env != nil {
		s.from = env.Diagnostics
	}
	return s
}

type diagnosticsSource struct {
	source.Input
	stage *stage
	from  source.Diagnostics // nil if the environment has no Diagnostics
	asked bool
	docs  []bsonx.Doc
}

// Kept implements memory.Keeper.
func (s *diagnosticsSource) Kept() int64 { return source.BytesOf(s.docs) + s.Input.Kept() }

// Next implements source.Source. It requests the documents at the first call.
func (s *diagnosticsSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if !s.asked && s.from != nil {
		var err error
		if s.docs, err = s.stage.report(s.from, ctx, s.stage.Arg); err != nil {
			return nil, err
		}
	}
	s.asked = true
	if len(s.docs) == 0 {
		return nil, nil
	}
	doc := s.docs[0]
	s.docs = s.docs[1:]
	return doc, nil
}

// MongoDB's error codes for mistakes in arguments.
const (
	codeCollStats  = mongoerr.Code(5447000)
	codeIndexStats = mongoerr.Code(28803)
)

// checkArguments returns an error for a field of arg that types does not list, or whose type
// differs. path is the name of arg in error messages.
func checkArguments(path string, arg bsonx.Doc, types map[string][]bsonx.Type) error {
	for it := arg.Iter(); it.Next(); {
		name := string(it.Key())
		allowed, ok := types[name]
		if !ok {
			return mongoerr.New(mongoerr.IDLUnknownField, "BSON field '%s.%s' is an unknown field.", path, name)
		}
		fits := false
		for _, t := range allowed {
			fits = fits || it.Value().Type == t
		}
		if !fits {
			return wrongArgumentType(path, name, it.Value().Type, allowed)
		}
	}
	return nil
}

func wrongArgumentType(path, name string, t bsonx.Type, allowed []bsonx.Type) error {
	switch {
	case name == "histograms":
		return mongoerr.New(mongoerr.TypeMismatch, "Field '%s' should be a boolean value, but found: %s", name, t)
	case slices.Equal(allowed, isNumber):
		return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s', expected types '[long, int, decimal, double]'", path, name, t)
	default:
		return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s', expected type '%s'", path, name, t, allowed[0])
	}
}

var (
	isObject = []bsonx.Type{bsonx.TypeDocument}
	isFlag   = []bsonx.Type{bsonx.TypeBool, bsonx.TypeInt32, bsonx.TypeInt64, bsonx.TypeDouble, bsonx.TypeDecimal128}
	isNumber = isFlag[1:]
)

// Explain implements parsing.Stage.
func (d *stage) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	return parsing.Forms(bsonx.NewDoc(d.Name, d.Arg)), nil
}
