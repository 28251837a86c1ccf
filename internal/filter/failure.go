package filter

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// maxConsidered is the largest number of values in an explanation.
const maxConsidered = 10

// considered appends the reason and the values at the path.
func (e *explainer) considered(f *failure, path *Path, inverted bool) {
	values, found := e.values(f, path)
	if !found {
		e.b.String("reason", "field was missing")
		return
	}
	names := typeNames(values)
	if len(f.expected) > 0 &&
		!slices.ContainsFunc(names, func(name string) bool { return slices.Contains(f.expected, name) }) {
		e.b.String("reason", reasonType)
		e.types(names)
		e.names("expectedType", f.expected)
		e.appendValues(values)
		return
	}
	e.b.String("reason", choose(inverted, f.yes, f.no))
	e.appendValues(values)
	if f.showTypes {
		e.types(names)
	}
}

// values returns the values at the path, up to the first missing value. found is false if there is
// no value. An empty array has no values, but counts as found.
func (e *explainer) values(f *failure, path *Path) (values []bsonx.Value, found bool) {
	mode := ElementsOnly
	if f.whole {
		mode = Whole
	}
	missing := path.Walk(e.doc, mode, func(v bsonx.Value) bool {
		if !v.IsMissing() {
			values = append(values, v)
		}
		return v.IsMissing()
	})
	if len(values) > 0 || missing {
		return values, len(values) > 0
	}
	return nil, path.Walk(e.doc, Elements, func(v bsonx.Value) bool { return !v.IsMissing() })
}

func typeNames(values []bsonx.Value) []string {
	var names []string
	for _, v := range values {
		names = append(names, v.Type.String())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (e *explainer) types(names []string) {
	if len(names) > 0 {
		e.names("consideredType", names)
	}
}

// names writes one name under key, or several names under the plural of key.
func (e *explainer) names(key string, names []string) {
	if len(names) == 1 {
		e.b.String(key, names[0])
		return
	}
	appendNames(e.b, key+"s", names)
}

func (e *explainer) appendValues(values []bsonx.Value) {
	if e.b.brief {
		return
	}
	if len(values) == 1 {
		e.b.Value("consideredValue", values[0])
		return
	}
	e.b.StartArrayField("consideredValues")
	for _, v := range values[:min(len(values), maxConsidered)] {
		e.b.Elem(v)
	}
	e.b.End()
	if len(values) > maxConsidered {
		e.b.Bool("consideredValuesTruncated", true)
	}
}
