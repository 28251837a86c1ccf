package pipeline

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// sort is $sort. Equal documents keep their order.
type sort struct {
	pattern bsonx.Doc
	keys    []sortKey
	plain   bool // no key is metadata
	opts    Options
}

type sortKey struct {
	path []string
	desc bool
}

func parseSort(arg bsonx.Value, opts Options) ([]stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(15973, "the $sort key specification must be an object")
	}
	s := &sort{pattern: arg.Doc().Clone(), plain: true, opts: opts}
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
	return []stage{s}, nil
}

func parseSortKey(name string, v bsonx.Value) (sortKey, error) {
	if v.Type == bsonx.TypeDocument {
		if v.Doc().Lookup("$meta").IsMissing() {
			return sortKey{}, mongoerr.New(17312, "$meta is the only expression supported by $sort right now")
		}
		if kind := v.Doc().Lookup("$meta"); kind.Type != bsonx.TypeString || !expr.IsMeta(kind.Str()) {
			return sortKey{}, mongoerr.New(31138, "Illegal $meta sort: %s", expr.Show(kind))
		}
		return sortKey{}, mongoerr.New(mongoerr.NotImplemented, "sorting by $meta is not implemented")
	}
	if !v.Type.IsNumber() {
		return sortKey{}, mongoerr.New(15974, "Illegal key in $sort specification: %s: %s", name, expr.Show(v))
	}
	n, ok := v.AsExactInt64()
	if !ok || n != 1 && n != -1 {
		return sortKey{}, mongoerr.New(15975, "$sort key ordering must be 1 (for ascending) or -1 (for descending)")
	}
	path, err := expr.SplitFieldPath(name)
	return sortKey{path, n < 0}, err
}

func (s *sort) open(src Source, env *Env) Source {
	return &sortSource{input: input{src}, sort: s, limit: env.memoryLimit()}
}

type sortedDoc struct {
	keys []bsonx.Value
	doc  bsonx.Doc
}

type sortSource struct {
	input
	limit  int
	sort   *sort
	loaded bool
	docs   []sortedDoc
	bytes  int
}

func (s *sortSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if !s.loaded {
		s.loaded = true
		if err := Drain(ctx, s.src, s.add); err != nil {
			return nil, err
		}
		slices.SortStableFunc(s.docs, s.sort.compare)
	}
	if len(s.docs) == 0 {
		return nil, nil
	}
	doc := s.docs[0].doc
	s.docs[0] = sortedDoc{}
	s.docs = s.docs[1:]
	return doc, nil
}

func (s *sortSource) add(doc bsonx.Doc) error {
	d := sortedDoc{make([]bsonx.Value, len(s.sort.keys)), doc.Clone()}
	arrays := 0
	for i, key := range s.sort.keys {
		isArray := false
		d.keys[i], isArray = key.value(d.doc)
		if isArray {
			arrays++
		}
	}
	if arrays > 1 && parallel(d.doc, s.sort.keys) {
		return mongoerr.New(mongoerr.BadValue, "cannot sort with keys that are parallel arrays")
	}
	s.docs = append(s.docs, d)
	s.bytes += len(doc) + 64 + 32*len(d.keys)
	if s.bytes > s.limit {
		return mongoerr.New(mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
			"Sort exceeded memory limit of %d bytes, but did not opt in to external sorting.", s.limit)
	}
	return nil
}

func (s *sort) compare(a, b sortedDoc) int {
	for i, key := range s.keys {
		c := s.compareValues(a.keys[i], b.keys[i])
		if key.desc {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

func (s *sort) compareValues(a, b bsonx.Value) int {
	if s.opts.Collation != nil && a.Type == bsonx.TypeString && b.Type == bsonx.TypeString {
		return s.opts.Collation.Compare(a.StrBytes(), b.StrBytes())
	}
	return bsonx.CompareValues(a, b)
}

// value returns the value that a document is sorted by: of an array the smallest element, or the greatest for a
// descending key. An empty array is undefined, which is before null.
func (k *sortKey) value(doc bsonx.Doc) (best bsonx.Value, isArray bool) {
	found := false
	isArray = walkSorted(bsonx.Document(doc), k.path, func(v bsonx.Value) {
		if v.IsMissing() {
			v = bsonx.Null
		}
		c := 0
		if found {
			c = bsonx.CompareValues(v, best)
		}
		if !found || c < 0 && !k.desc || c > 0 && k.desc {
			best, found = v, true
		}
	})
	return best, isArray
}

// walkSorted calls f for the values at a path, as an index on it has keys, and reports whether an array is on it.
func walkSorted(v bsonx.Value, path []string, f func(bsonx.Value)) bool {
	if len(path) == 0 {
		if v.Type != bsonx.TypeArray {
			f(v)
			return false
		}
		if v.Doc().IsEmpty() {
			f(bsonx.Value{Type: bsonx.TypeUndefined})
		}
		for it := v.Doc().Iter(); it.Next(); {
			f(it.Value())
		}
		return true
	}
	switch v.Type {
	case bsonx.TypeDocument:
		return walkSorted(v.Doc().Lookup(path[0]), path[1:], f)
	case bsonx.TypeArray:
		if _, numeric := bsonx.ArrayIndex(path[0]); numeric {
			if elem := v.Doc().Lookup(path[0]); !elem.IsMissing() {
				return walkSorted(elem, path[1:], f)
			}
		}
		any := false
		for it := v.Doc().Iter(); it.Next(); {
			if it.Value().Type == bsonx.TypeDocument {
				any = true
				walkSorted(it.Value(), path, f)
			}
		}
		if !any {
			f(bsonx.Null)
		}
		return true
	default:
	}
	f(bsonx.Missing)
	return false
}

// parallel reports whether two keys go through different arrays.
func parallel(doc bsonx.Doc, keys []sortKey) bool {
	first := ""
	for _, key := range keys {
		at := arrayOn(doc, key.path)
		if at == "" {
			continue
		}
		if first != "" && at != first {
			return true
		}
		first = at
	}
	return false
}

// arrayOn returns the path to the first array on a path, or "".
func arrayOn(doc bsonx.Doc, path []string) string {
	v, at := bsonx.Document(doc), ""
	for _, part := range path {
		if v.Type != bsonx.TypeDocument {
			return ""
		}
		v = v.Doc().Lookup(part)
		at += "." + part
		if v.Type == bsonx.TypeArray {
			return at
		}
	}
	return ""
}
