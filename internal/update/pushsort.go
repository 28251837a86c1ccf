package update

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// arraySort is the modifier $sort of $push. It sorts whole values, or documents by their fields.
type arraySort struct {
	direction int // the order of whole values, if keys is empty
	keys      []sortKey
	compare   func(a, b bsonx.Value) int
}

type sortKey struct {
	path      []string
	direction int
}

func parseArraySort(v bsonx.Value, compare func(a, b bsonx.Value) int) (*arraySort, error) {
	s := &arraySort{compare: compare}
	if v.Type.IsNumber() {
		dir, ok := direction(v)
		if !ok {
			return nil, mongoerr.New(mongoerr.BadValue, "The $sort element value must be either 1 or -1")
		}
		s.direction = dir
		return s, nil
	}
	if v.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.BadValue,
			"The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields")
	}
	if v.Doc().IsEmpty() {
		return nil, mongoerr.New(mongoerr.BadValue, "The sort pattern is empty when it should be a set of fields.")
	}
	for it := v.Doc().Iter(); it.Next(); {
		key := string(it.Key())
		dir, ok := direction(it.Value())
		switch {
		case !ok:
			return nil, mongoerr.New(mongoerr.BadValue, "The sort element value must be either 1 or -1")
		case key == "":
			return nil, mongoerr.New(mongoerr.BadValue, "The sort field cannot be empty")
		}
		path := strings.Split(key, ".")
		if slices.Contains(path, "") {
			return nil, mongoerr.New(mongoerr.BadValue, "The sort field is a dotted field but has an empty part: %s", key)
		}
		s.keys = append(s.keys, sortKey{path, dir})
	}
	return s, nil
}

// sort sorts in place. Equal values keep their order.
func (s *arraySort) sort(a *applier, values []bsonx.Value) error {
	order := func(a, b bsonx.Value) int { return s.compare(a, b) * s.direction }
	if len(s.keys) > 0 {
		order = s.byKeys
	}
	return interrupt.Sort(values, interrupt.Step*(1+2*len(s.keys)), order, &a.meter, a.env.Running)
}

func (s *arraySort) byKeys(a, b bsonx.Value) int {
	for _, k := range s.keys {
		if c := s.compare(sortValue(a, k.path), sortValue(b, k.path)); c != 0 {
			return c * k.direction
		}
	}
	return 0
}

// sortValue returns the value at a path, or null. The path reaches array elements only by index.
func sortValue(v bsonx.Value, path []string) bsonx.Value {
	for _, part := range path {
		next, viable := stepInto(v, part)
		if !viable || next.IsMissing() {
			return bsonx.Null
		}
		v = next
	}
	return v
}
