package array

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func sortArrayDefinition() expr.Definition {
	return expr.Definition{
		Name: "$sortArray", Family: family, Parse: parseSortArray,
		Arguments: []string{"input", "=sortBy"},
		Total:     feature.No, Folds: feature.No, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

// sortArray is $sortArray. It sorts the elements as a whole, or by fields of the elements that are
// documents.
type sortArray struct {
	input   expr.Expr
	by      []sortField
	descend bool // the order if by is empty
	compare func(a, b bsonx.Value) int
	running *interrupt.Running
}

type sortField struct {
	path    []string
	descend bool
}

func parseSortArray(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(2942500, "$sortArray requires an object as an argument, found: %s", arg.Type)
	}
	names := []string{"input", "sortBy"}
	raw, order, unknown := expr.OrderedArgs(arg,
		expr.UnknownArgument{Code: 2942501, Text: expr.FoundUnknown}, def.Name, names)
	s := &sortArray{compare: vars.Collation().CompareValues, running: vars.Scripts().Running}
	for _, i := range order {
		var err error
		if i == 1 {
			err = s.parsePattern(raw[i])
		} else {
			s.input, err = p.Operand(raw[i], vars)
		}
		if err != nil {
			return nil, err
		}
	}
	if unknown != nil {
		return nil, unknown
	}
	for i, v := range raw {
		if v.IsMissing() {
			return nil, mongoerr.New(mongoerr.Code(2942502+i), "$sortArray requires '%s' to be specified", names[i])
		}
	}
	return s, nil
}

func (s *sortArray) parsePattern(v bsonx.Value) error {
	switch {
	case v.Type.IsNumber():
		var ok bool
		if s.descend, ok = sortOrder(v); !ok {
			return mongoerr.New(2942506, "The $sort element value must be either 1 or -1")
		}
		return nil
	case v.Type != bsonx.TypeDocument:
		return mongoerr.New(2942507, "The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields")
	case v.Doc().IsEmpty():
		return mongoerr.New(2942505, "BadValue: The sort pattern is empty when it should be a set of fields.")
	}
	for it := v.Doc().Iter(); it.Next(); {
		descend, ok := sortOrder(it.Value())
		if !ok {
			return mongoerr.New(2942505, "BadValue: The sort element value must be either 1 or -1")
		}
		path := strings.Split(string(it.Key()), ".")
		switch {
		case len(it.Key()) == 0:
			return mongoerr.New(2942505, "BadValue: The sort field cannot be empty")
		case slices.Contains(path, ""):
			return mongoerr.New(2942505, "BadValue: The sort field is a dotted field but has an empty part: %s", it.Key())
		}
		s.by = append(s.by, sortField{path, descend})
	}
	return nil
}

// sortOrder parses 1 or -1. ok is false for other values.
func sortOrder(v bsonx.Value) (descend, ok bool) {
	i, exact := v.AsExactInt64()
	return i == -1, exact && v.Type.IsNumber() && (i == 1 || i == -1)
}

func (s *sortArray) Children() []expr.Expr { return []expr.Expr{s.input} }

func (s *sortArray) Eval(ctx *expr.Context) (bsonx.Value, error) {
	v, err := s.input.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	if expr.Nullish(v) {
		return bsonx.Null, nil
	}
	if v.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(2942504, "The input argument to $sortArray must be an array, but was of type: %s", v.Type)
	}
	if err := ctx.Read(len(v.Data), s.running); err != nil {
		return bsonx.Missing, err
	}
	values, err := expr.Elements(v.Doc(), s.running)
	if err != nil {
		return bsonx.Missing, err
	}
	if len(s.by) == 0 {
		var meter interrupt.Meter
		err := interrupt.Sort(values, interrupt.Step, directed(s.compare, s.descend), &meter, s.running)
		if err != nil {
			return bsonx.Missing, err
		}
		return expr.ListOf(values, s.running)
	}
	return s.byFields(values)
}

func directed(cmp func(a, b bsonx.Value) int, descend bool) func(a, b bsonx.Value) int {
	if !descend {
		return cmp
	}
	return func(a, b bsonx.Value) int { return cmp(b, a) }
}

// byFields sorts values by the fields of s.by. It looks up the sort keys of each element only once.
func (s *sortArray) byFields(values []bsonx.Value) (bsonx.Value, error) {
	n := len(s.by)
	keys := make([]bsonx.Value, 0, n*len(values))
	order := make([]int, len(values))
	var meter interrupt.Meter
	for i, v := range values {
		if err := meter.Did(n*(interrupt.Step+len(v.Data)), s.running); err != nil {
			return bsonx.Missing, err
		}
		order[i] = i
		for _, f := range s.by {
			keys = append(keys, elementAtPath(v, f.path))
		}
	}
	err := interrupt.Sort(order, n*interrupt.Step, func(a, b int) int {
		for i, f := range s.by {
			if c := directed(s.compare, f.descend)(keys[a*n+i], keys[b*n+i]); c != 0 {
				return c
			}
		}
		return 0
	}, &meter, s.running)
	if err != nil {
		return bsonx.Missing, err
	}
	out := make([]bsonx.Value, len(values))
	for i, at := range order {
		out[i] = values[at]
	}
	return expr.ListOf(out, s.running)
}

// elementAtPath returns the value at a path. It descends into documents, and into arrays only by
// index. The result is null if the path does not exist or v is not a document.
func elementAtPath(v bsonx.Value, path []string) bsonx.Value {
	if v.Type != bsonx.TypeDocument {
		return bsonx.Null
	}
	for _, name := range path {
		if v.Type != bsonx.TypeDocument && v.Type != bsonx.TypeArray {
			return bsonx.Null
		}
		v = v.Doc().Lookup(name)
	}
	if v.IsMissing() {
		return bsonx.Null
	}
	return v
}
