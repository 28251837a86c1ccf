package projection

import (
	"errors"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Operators lists the operators of a find projection.
func Operators() []feature.Info {
	return []feature.Info{
		{Name: "$", Family: "projection", Note: "positional"},
		{Name: "$elemMatch", Family: "projection"},
		{Name: "$meta", Family: "projection", Note: "the geo metadata need their indexes"},
		{Name: "$slice", Family: "projection"},
	}
}

// operator compiles {path: {name: arg}}.
func (p *parser) operator(path, name string, arg bsonx.Value, whole bsonx.Doc) error {
	if p.find && name == "$elemMatch" {
		return p.elemMatch(path, arg)
	}
	notSlice := ""
	if p.find && name == "$slice" {
		// An argument that is not valid for find's $slice is parsed as the expression $slice. If
		// that fails too, the error contains both reasons.
		reason, err := p.trySlice(path, arg)
		if err != nil || reason == "" {
			return err
		}
		notSlice = reason
	}
	if name == "$elemMatch" {
		return mongoerr.New(mongoerr.InvalidPipelineOperator, "Cannot use $elemMatch in this context")
	}
	if !p.opts.Vars.Operators().Has(name) {
		return mongoerr.New(31325, "Unknown expression %s", name)
	}
	if p.kind == exclusion && name != "$meta" {
		return mongoerr.New(31252, "Cannot use expression other than $meta in exclusion projection")
	}
	e, err := expr.Parse(bsonx.Document(whole), p.opts.Vars)
	if err == nil {
		err = p.add(path, field{action: compute, value: e})
	}
	if err != nil && notSlice != "" {
		return mongoerr.Within("Invalid $slice syntax. The given syntax "+bsonx.FormatShell(bsonx.Document(whole))+
			" did not match the find() syntax because :: "+notSlice+" :: The given syntax did not match the expression $slice syntax.", err)
	}
	if err != nil {
		return err
	}
	if name == "$meta" {
		p.hasMeta = true
		return nil
	}
	p.kind = inclusion
	return nil
}

// position compiles the positional operator "path.$": 1. name is the part of the path that the
// enclosing specification names.
func (p *parser) position(path, name string) error {
	path = path[:len(path)-2]
	switch {
	case p.hasPositional:
		return mongoerr.New(31276, "Cannot specify more than one positional projection per query.")
	case p.hasElemMatch:
		return mongoerr.New(31256, "Cannot specify positional operator and $elemMatch.")
	case name == ".$":
		return mongoerr.New(5392900, "Projection on field .$ is invalid")
	case p.kind == exclusion:
		return mongoerr.New(31253, "Cannot do inclusion on field %s in exclusion projection", path)
	case p.opts.Filter == nil:
		return mongoerr.New(51050, "Projections with a positional operator require a matcher")
	}
	if err := p.add(path, field{action: keep}); err != nil {
		return err
	}
	parts, err := expr.SplitFieldPath(path)
	if err != nil {
		return err
	}
	p.hasPositional, p.kind = true, inclusion
	p.positional = &positional{parts: parts, query: p.opts.Filter}
	return nil
}

// elemMatch is the projection operator $elemMatch. Its value is an array with the first matching
// element, or missing.
type elemMatch struct {
	name  string
	query *filter.Filter
}

func (p *parser) elemMatch(path string, arg bsonx.Value) error {
	switch {
	case arg.Type != bsonx.TypeDocument:
		return mongoerr.New(31274, "elemMatch: Invalid argument, object required, but got %s", arg.Type)
	case p.hasPositional:
		return mongoerr.New(31255, "Cannot specify positional operator and $elemMatch.")
	}
	parts, err := expr.SplitFieldPath(path)
	if err != nil {
		return err
	}
	if len(parts) > 1 {
		return mongoerr.New(31275, "Cannot use $elemMatch projection on a nested field.")
	}
	query, err := filter.Parse(bsonx.NewDoc(path, bsonx.NewDoc("$elemMatch", arg)), filter.Options{
		Vars: p.opts.Vars, Now: p.opts.Now, AllowExpr: true, Collation: p.opts.Collation,
	})
	if err != nil {
		return err
	}
	if err := p.opts.hold(elemMatchBytes); err != nil {
		return err
	}
	p.hasElemMatch = true
	match := &elemMatch{name: path, query: query}
	return p.add(path, field{action: compute, value: expr.Func(match.eval)})
}

func (m *elemMatch) eval(ctx *expr.Context) (bsonx.Value, error) {
	array := ctx.Root.Doc().Lookup(m.name)
	if array.Type != bsonx.TypeArray {
		return bsonx.Missing, nil
	}
	var details filter.Details
	matched, err := m.query.MatchDetails(ctx.Root.Doc(), &details)
	if err != nil || !matched || !details.HasIndex {
		return bsonx.Missing, err
	}
	return bsonx.NewArray(array.Doc().Index(details.ArrayIndex)), nil
}

// trySlice compiles find's $slice. It returns "" after success, and otherwise the reason why arg is
// not valid for find's $slice.
func (p *parser) trySlice(path string, arg bsonx.Value) (reason string, err error) {
	if _, err := expr.SplitFieldPath(path); err != nil {
		return "", err
	}
	s, ok := findSlice(arg)
	if !ok {
		return notFindSlice(arg), nil
	}
	err = p.slice(path, s)
	var collision *mongoerr.Error
	if errors.As(err, &collision) && (collision.Code == codeCollision || collision.Code == codeCollisionWithin) {
		return collision.Code.Name() + ": " + collision.Message, nil
	}
	return "", err
}

// slice compiles a $slice: the tree keeps the field, even in an exclusion, and the array is cut
// afterwards.
func (p *parser) slice(path string, s *slice) error {
	if err := p.add(path, field{action: keep}); err != nil {
		return err
	}
	if err := p.opts.hold(sliceBytes); err != nil {
		return err
	}
	var err error
	s.parts, err = expr.SplitFieldPath(path)
	p.hasSlice = true
	p.slices = append(p.slices, s)
	return err
}

// findSlice parses the argument of find's $slice: a number of elements, or a pair of a number to
// skip and a positive number of elements. It returns false for any other argument, for which $slice
// is the expression of the same name.
func findSlice(arg bsonx.Value) (*slice, bool) {
	if arg.Type.IsNumber() {
		n := clampInt(arg)
		if n < 0 {
			return &slice{skip: n, limit: -n}, true
		}
		return &slice{limit: n}, true
	}
	if arg.Type != bsonx.TypeArray || arg.Doc().Len() != 2 {
		return nil, false
	}
	skip, limit := arg.Doc().Index(0), arg.Doc().Index(1)
	if !skip.Type.IsNumber() || !limit.Type.IsNumber() {
		return nil, false
	}
	n := clampInt(limit)
	return &slice{skip: clampInt(skip), limit: n}, n > 0
}

// notFindSlice returns the reason why an argument is not valid for find's $slice, with the error
// code in MongoDB's text.
func notFindSlice(arg bsonx.Value) string {
	if arg.Type == bsonx.TypeArray {
		return "Location31272: $slice array argument should be of form [skip, limit]"
	}
	return "Location31273: $slice only supports numbers and [skip, limit] arrays"
}

// clampInt rounds a number like the arguments of commands, and limits it to the range of an int32.
// NaN becomes 0.
func clampInt(v bsonx.Value) int {
	if i, ok := v.RoundInt64(); ok {
		return int(max(-math.MaxInt32, min(math.MaxInt32, i)))
	}
	f, _ := v.AsFloat64()
	switch {
	case f > 0:
		return math.MaxInt32
	case f < 0:
		return -math.MaxInt32
	}
	return 0
}
