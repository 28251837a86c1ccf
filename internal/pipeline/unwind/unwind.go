package unwind

import (
	"context"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/document"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// Stage is the compiled $unwind, which yields one document per element of an array.
type Stage struct {
	Path  []string
	Index []string // the path of includeArrayIndex; nil if absent
	Keep  bool     // preserveNullAndEmptyArrays

	Wanted []string // the top-level fields that later stages read; nil means all
}

// Definition returns the definition of $unwind.
func Definition() parsing.Definition {
	return parsing.Definition{
		Name: "$unwind", Parse: parse,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfDocuments(), Inside: parsing.InsideNothing,
	}
}

// parse compiles the argument of $unwind.
func parse(arg bsonx.Value, _ parsing.Options) ([]parsing.Stage, error) {
	u := &Stage{}
	path := arg
	if arg.Type == bsonx.TypeDocument {
		path = bsonx.Missing
		for it := arg.Doc().Iter(); it.Next(); {
			v := it.Value()
			switch string(it.Key()) {
			case "path":
				if v.Type != bsonx.TypeString {
					return nil, mongoerr.New(28808, "expected a string as the path for $unwind stage, got %s", v.Type)
				}
				path = v
			case "preserveNullAndEmptyArrays":
				if v.Type != bsonx.TypeBool {
					return nil, mongoerr.New(28809, "expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage, got %s", v.Type)
				}
				u.Keep = v.Bool()
			case "includeArrayIndex":
				if err := u.setIndex(v); err != nil {
					return nil, err
				}
			default:
				return nil, mongoerr.New(28811, "unrecognized option to $unwind stage: %s", it.Key())
			}
		}
		if path.IsMissing() {
			return nil, mongoerr.New(28812, "no path specified to $unwind stage")
		}
	} else if arg.Type != bsonx.TypeString {
		return nil, mongoerr.New(15981, "expected either a string or an object as specification for $unwind stage, got %s", arg.Type)
	}
	if path.Str() == "" {
		return nil, mongoerr.New(28812, "no path specified to $unwind stage")
	}
	if !strings.HasPrefix(path.Str(), "$") {
		return nil, mongoerr.New(28818, "path option to $unwind stage should be prefixed with a '$': %s", path.Str())
	}
	var err error
	u.Path, err = expr.SplitFieldPath(path.Str()[1:])
	return []parsing.Stage{u}, err
}

func (u *Stage) setIndex(v bsonx.Value) error {
	if v.Type != bsonx.TypeString || v.Str() == "" {
		return mongoerr.New(28810, "expected a non-empty string for the includeArrayIndex  option to $unwind stage, got %s", v.Type)
	}
	if strings.HasPrefix(v.Str(), "$") {
		return mongoerr.New(28822, "includeArrayIndex option to $unwind stage should not be prefixed with a '$': %s", v.Str())
	}
	var err error
	u.Index, err = expr.SplitFieldPath(v.Str())
	return err
}

// Open implements parsing.Stage.
func (u *Stage) Open(src source.Source, _ *source.Env) source.Source {
	return &unwindSource{Input: source.Input{Src: src}, stage: u, doc: document.NewSplicer(u.Path, u.Wanted)}
}

type unwindSource struct {
	source.Input
	stage *Stage
	doc   document.Splicer
	array bsonx.Doc // the array that is being unwound; nil between two documents
	elems bsonx.Iter
	next  int64
	meter interrupt.Meter
}

func (s *unwindSource) Next(ctx context.Context) (bsonx.Doc, error) {
	for {
		if s.array != nil && s.elems.Next() {
			// One document can become many without a call of another source that checks the
			// context, and each result copies the rest of the document.
			if err := s.meter.Passed(ctx, interrupt.Document+len(s.doc.Out)); err != nil {
				return nil, err
			}
			s.next++
			return s.result(s.elems.Value()), nil
		}
		s.array = nil
		doc, err := s.Src.Next(ctx)
		if err != nil || doc == nil {
			return nil, err
		}
		v := doc.LookupPath(s.stage.Path...)
		isArray := v.Type == bsonx.TypeArray
		switch {
		case isArray && !v.Doc().IsEmpty():
			s.doc.Start(doc)
			s.array, s.elems, s.next = v.Doc(), *v.Doc().Iter(), 0
			continue
		case (isArray || v.IsNull() || v.Type == bsonx.TypeUndefined) && !s.stage.Keep:
			continue
		case isArray:
			v = s.stage.absent()
		case s.stage.Index == nil:
			return doc, nil // the document without an array passes unchanged
		}
		s.doc.Start(doc)
		s.next = 0
		return s.result(v), nil
	}
}

// absent returns what replaces an empty array. The array's field is removed, but it keeps its place
// if the index is written to this field or below it.
func (u *Stage) absent() bsonx.Value {
	switch {
	case len(u.Index) < len(u.Path) || !slices.Equal(u.Index[:len(u.Path)], u.Path):
		return bsonx.Missing
	case len(u.Index) == len(u.Path):
		return bsonx.Null
	}
	return bsonx.Document(bsonx.Empty)
}

// Save implements source.Source. It copies the array that is being unwound.
func (s *unwindSource) Save() {
	if s.array != nil {
		s.array = s.array.Clone()
		s.elems = *s.array.Iter()
		for range s.next {
			s.elems.Next()
		}
		s.doc.Save()
	} else {
		s.doc.Forget()
	}
	s.Input.Save()
}

// Kept implements memory.Keeper.
func (s *unwindSource) Kept() int64 { return int64(len(s.array)) + s.doc.Kept() + s.Input.Kept() }

func (s *unwindSource) result(elem bsonx.Value) bsonx.Doc {
	return s.stage.Indexed(s.doc.With(elem), s.next)
}

// Indexed adds the index of the array element to doc, if the stage asks for it. n counts elements
// from 1; 0 means that the document has no element, and its index is null.
func (u *Stage) Indexed(doc bsonx.Doc, n int64) bsonx.Doc {
	if u.Index == nil {
		return doc
	}
	index := bsonx.Null
	if n > 0 {
		index = bsonx.Int64(n - 1)
	}
	return document.SetPath(doc, u.Index, index)
}

// Needs implements parsing.Reader.
func (u *Stage) Needs(n *parsing.Needs) {
	n.Field(u.Path[0])
	if u.Index != nil {
		n.Define(strings.Join(u.Index, "."))
	}
}

// Narrow implements parsing.Narrower.
func (u *Stage) Narrow(fields []string) parsing.Stage { return u.Keeping(fields) }

// Keeping returns a copy of the stage that keeps only the given top-level fields of its results.
func (u *Stage) Keeping(fields []string) *Stage {
	narrowed := *u
	narrowed.Wanted = fields
	if u.Index != nil && !slices.Contains(fields, u.Index[0]) {
		narrowed.Index = nil
	}
	return &narrowed
}

// IsPerDocument implements parsing.PerDocument.
func (*Stage) IsPerDocument() bool { return true }

// Changes implements parsing.Changer.
func (u *Stage) Changes() (fields []string, drops, ok bool) {
	fields = []string{u.Path[0]}
	if len(u.Index) > 0 {
		fields = append(fields, u.Index[0])
	}
	return fields, true, true
}

// Explain implements parsing.Stage. It leaves out options that have their default value.
func (*Stage) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	spec := bsonx.NewDoc("path", x.Spec)
	if x.Spec.Type == bsonx.TypeDocument {
		names := []string{"=path", "=preserveNullAndEmptyArrays", "=includeArrayIndex"}
		if !x.Spec.Doc().Lookup("preserveNullAndEmptyArrays").Truthy() {
			names = []string{"=path", "=includeArrayIndex"}
		}
		spec = x.Arguments(x.Spec.Doc(), names...)
	}
	return parsing.Forms(bsonx.NewDoc("$unwind", spec)), nil
}

// CanFail implements parsing.Failing.
func (*Stage) CanFail() bool { return false }
