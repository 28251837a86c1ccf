package timeseries

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Pruner decides by the bounds of a bucket that no measurement of the bucket satisfies a query. A
// nil Pruner never does.
type Pruner struct{ terms []pruneTerm }

// pruneTerm is a comparison of a field. Every measurement that satisfies the query also satisfies
// this comparison.
type pruneTerm struct {
	path  []string
	op    string
	value bsonx.Value
}

// NewPruner returns the pruner for a query on measurements. It returns nil if bounds do not help
// for this query.
func (o *Options) NewPruner(query bsonx.Doc) *Pruner {
	p := &Pruner{}
	o.pruneTerms(p, query, 0)
	if len(p.terms) == 0 {
		return nil
	}
	return p
}

func (o *Options) pruneTerms(p *Pruner, query bsonx.Doc, depth int) {
	if depth > maxQueryDepth {
		return
	}
	for it := query.Iter(); it.Next(); {
		name, v := string(it.Key()), it.Value()
		if name == "$and" && v.Type == bsonx.TypeArray {
			for sub := v.Doc().Iter(); sub.Next(); {
				if sub.Value().Type == bsonx.TypeDocument {
					o.pruneTerms(p, sub.Value().Doc(), depth+1)
				}
			}
			continue
		}
		if _, ok := o.metaPath(name); ok || name == o.Time || strings.HasPrefix(name, "$") {
			continue
		}
		path := strings.Split(name, ".")
		pusher{opts: o}.comparisons(v, func(op string, v bsonx.Value) []bsonx.Value {
			if !hasBounds(v.Type) {
				return nil
			}
			p.terms = append(p.terms, pruneTerm{path, op, v.Clone()})
			return nil
		})
	}
}

// Skips reports whether no measurement of a bucket satisfies the query.
func (p *Pruner) Skips(bucket bsonx.Doc) bool {
	if p == nil {
		return false
	}
	control := bucket.Lookup("control").Doc()
	low, high := control.Lookup("min"), control.Lookup("max")
	for _, t := range p.terms {
		lowest, ok := lookup(low, t.path)
		highest, alsoOK := lookup(high, t.path)
		if ok && alsoOK && t.skips(lowest, highest) {
			return true
		}
	}
	return false
}

// lookup follows a path through the documents of a bound. It reports false at any other value on
// the way, because values between the bounds may still be documents.
func lookup(v bsonx.Value, path []string) (bsonx.Value, bool) {
	for _, name := range path {
		if v.Type != bsonx.TypeDocument {
			return v, v.IsMissing()
		}
		v = v.Doc().Lookup(name)
	}
	return v, true
}

// skips decides by the bounds of a field. It reports false if values of several types, arrays or
// documents may be between the bounds.
func (t *pruneTerm) skips(low, high bsonx.Value) bool {
	if low.IsMissing() && high.IsMissing() {
		// Skip the bucket: no measurement has the field, so none satisfies the comparison.
		return true
	}
	if !sameClass(low.Type, high.Type) || !hasBounds(low.Type) {
		return false
	}
	if !sameClass(low.Type, t.value.Type) {
		return true
	}
	switch t.op {
	case "$gt":
		return bsonx.CompareValues(high, t.value) <= 0
	case "$gte":
		return bsonx.CompareValues(high, t.value) < 0
	case "$lt":
		return bsonx.CompareValues(low, t.value) >= 0
	case "$lte":
		return bsonx.CompareValues(low, t.value) > 0
	default:
		return bsonx.CompareValues(high, t.value) < 0 || bsonx.CompareValues(low, t.value) > 0
	}
}

func sameClass(a, b bsonx.Type) bool { return a == b || a.IsNumber() && b.IsNumber() }
