package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// sort is $sort. Equal documents keep their order. The keys are those of the planner's sorts, so that it does not matter
// which of them runs.
type sort struct {
	pattern bsonx.Doc
	keys    index.Pattern
	limit   int64 // how many documents the stages that follow can read; 0 means all
}

func parseSort(arg bsonx.Value, opts Options) ([]stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(15973, "the $sort key specification must be an object")
	}
	s := &sort{pattern: arg.Doc().Clone()}
	for it := s.pattern.Iter(); it.Next(); {
		key, err := parseSortKey(string(it.Key()), it.Value())
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, key)
	}
	if len(s.keys) == 0 {
		return nil, mongoerr.New(15976, "$sort stage must have at least one sort key")
	}
	if opts.Collation != nil {
		return nil, mongoerr.New(mongoerr.NotImplemented, "sorting by a collation is not implemented")
	}
	return []stage{s}, nil
}

func parseSortKey(name string, v bsonx.Value) (index.Field, error) {
	if v.Type == bsonx.TypeDocument {
		if v.Doc().Lookup("$meta").IsMissing() {
			return index.Field{}, mongoerr.New(17312, "$meta is the only expression supported by $sort right now")
		}
		if kind := v.Doc().Lookup("$meta"); kind.Type != bsonx.TypeString || !expr.IsMeta(kind.Str()) {
			return index.Field{}, mongoerr.New(31138, "Illegal $meta sort: %s", expr.Show(kind))
		}
		return index.Field{}, mongoerr.New(mongoerr.NotImplemented, "sorting by $meta is not implemented")
	}
	if !v.Type.IsNumber() {
		return index.Field{}, mongoerr.New(15974, "Illegal key in $sort specification: %s: %s", name, expr.Show(v))
	}
	n, ok := v.AsExactInt64()
	if !ok || n != 1 && n != -1 {
		return index.Field{}, mongoerr.New(15975, "$sort key ordering must be 1 (for ascending) or -1 (for descending)")
	}
	_, err := expr.SplitFieldPath(name)
	return index.Field{Path: name, Desc: n < 0}, err
}

func (s *sort) open(src Source, env *Env) Source {
	gen := index.NewSortKeyGen(s.keys)
	return &sortingSource{input: input{src}, env: env, limit: s.limit, key: gen.Append}
}
