package timeseries

import (
	"math"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// maxQueryDepth is the nesting of $and and $or down to which queries are analysed.
const maxQueryDepth = 32

// metaPath converts a path of the meta value in measurements to its path in buckets.
func (o *Options) metaPath(path string) (string, bool) {
	if o.Meta == "" {
		return "", false
	}
	rest, ok := strings.CutPrefix(path, o.Meta)
	if !ok || rest != "" && rest[0] != '.' {
		return "", false
	}
	return "meta" + rest, true
}

// BucketFilter returns a query on buckets. Every bucket with a measurement that satisfies query
// satisfies it. It has predicates on the meta value, and on the bounds of times and measured
// fields. indexed reports whether a measured field has an index over its bounds. The result is
// empty if no predicate can be derived.
func (o *Options) BucketFilter(query bsonx.Doc, indexed func(path string) bool) bsonx.Doc {
	p := pusher{o, indexed}
	terms := p.conjunction(query, 0)
	switch len(terms) {
	case 0:
		return bsonx.Empty
	case 1:
		return terms[0].Doc()
	default:
		return bsonx.NewDoc("$and", terms)
	}
}

// Residual returns the part of a query that must still be checked on the measurements of a bucket
// that satisfies its BucketFilter.
func (o *Options) Residual(query bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for it := query.Iter(); it.Next(); {
		if _, ok := o.MetaOnly(bsonx.NewDoc(string(it.Key()), it.Value())); !ok {
			b.ValueBytes(it.Key(), it.Value())
		}
	}
	b.End()
	return b.Bytes()
}

type pusher struct {
	opts    *Options
	indexed func(path string) bool
}

func (p pusher) conjunction(query bsonx.Doc, depth int) []bsonx.Value {
	if depth > maxQueryDepth {
		return nil
	}
	var terms []bsonx.Value
	for it := query.Iter(); it.Next(); {
		name, v := string(it.Key()), it.Value()
		if name != "$comment" {
			if renamed, ok := p.opts.MetaOnly(bsonx.NewDoc(name, v)); ok {
				terms = append(terms, bsonx.Document(renamed))
				continue
			}
		}
		switch {
		case name == "$and" && v.Type == bsonx.TypeArray:
			for sub := v.Doc().Iter(); sub.Next(); {
				if sub.Value().Type == bsonx.TypeDocument {
					terms = append(terms, p.conjunction(sub.Value().Doc(), depth+1)...)
				}
			}
		case name == "$or" && v.Type == bsonx.TypeArray:
			terms = append(terms, p.disjunction(v.Doc(), depth)...)
		case strings.HasPrefix(name, "$"):
		case name == p.opts.Time:
			terms = append(terms, p.comparisons(v, p.timeBound)...)
		default:
			if p.indexed != nil && p.indexed(name) {
				terms = append(terms, p.comparisons(v,
					func(op string, v bsonx.Value) []bsonx.Value { return measureBound(name, op, v) })...)
			}
		}
	}
	return terms
}

// disjunction returns predicates only if each branch has some.
func (p pusher) disjunction(branches bsonx.Doc, depth int) []bsonx.Value {
	var out []bsonx.Value
	for it := branches.Iter(); it.Next(); {
		if it.Value().Type != bsonx.TypeDocument {
			return nil
		}
		terms := p.conjunction(it.Value().Doc(), depth+1)
		if len(terms) == 0 {
			return nil
		}
		out = append(out, bsonx.Document(bsonx.NewDoc("$and", terms)))
	}
	if len(out) == 0 {
		return nil
	}
	return []bsonx.Value{bsonx.Document(bsonx.NewDoc("$or", out))}
}

// comparisons calls bound for the comparisons of a predicate on a field.
func (p pusher) comparisons(cond bsonx.Value, bound func(op string, v bsonx.Value) []bsonx.Value) []bsonx.Value {
	if cond.Type != bsonx.TypeDocument || !strings.HasPrefix(string(cond.Doc().First().Key), "$") {
		return bound("$eq", cond)
	}
	var terms []bsonx.Value
	for it := cond.Doc().Iter(); it.Next(); {
		switch op := string(it.Key()); op {
		case "$eq", "$gt", "$gte", "$lt", "$lte":
			terms = append(terms, bound(op, it.Value())...)
		case "$in":
			terms = append(terms, p.in(it.Value(), bound)...)
		}
	}
	return terms
}

// in returns predicates for $in: a bucket must have a value between the least and the greatest
// member of the list.
func (p pusher) in(list bsonx.Value, bound func(op string, v bsonx.Value) []bsonx.Value) []bsonx.Value {
	if list.Type != bsonx.TypeArray || list.Doc().IsEmpty() {
		return nil
	}
	low, high := bsonx.Missing, bsonx.Missing
	for it := list.Doc().Iter(); it.Next(); {
		v := it.Value()
		if !hasBounds(v.Type) || !low.IsMissing() && !sameClass(v.Type, low.Type) {
			return nil
		}
		if low.IsMissing() || bsonx.CompareValues(v, low) < 0 {
			low = v
		}
		if high.IsMissing() || bsonx.CompareValues(v, high) > 0 {
			high = v
		}
	}
	return append(bound("$gte", low), bound("$lte", high)...)
}

// timeBound returns predicates on the times of a bucket and on its _id.
func (p pusher) timeBound(op string, v bsonx.Value) []bsonx.Value {
	if v.Type != bsonx.TypeDate {
		return nil
	}
	o, seconds := p.opts, floorDiv(v.Int64(), 1000)
	least, most := "$gte", "$lte"
	switch op {
	case "$gt":
		least = op
	case "$lt":
		most = op
	}
	var terms []bsonx.Value
	if op != "$lt" && op != "$lte" {
		terms = append(terms,
			bsonx.Document(bsonx.NewDoc("_id", bsonx.NewDoc("$gte", IDBound(seconds-o.Span, false)))),
			bsonx.Document(bsonx.NewDoc("control.max."+o.Time, bsonx.NewDoc(least, v))),
			bsonx.Document(bsonx.NewDoc("control.min."+o.Time, bsonx.NewDoc(least, o.shifted(v, -1)))))
	}
	if op != "$gt" && op != "$gte" {
		terms = append(terms,
			bsonx.Document(bsonx.NewDoc("_id", bsonx.NewDoc("$lte", IDBound(seconds, true)))),
			bsonx.Document(bsonx.NewDoc("control.min."+o.Time, bsonx.NewDoc(most, v))),
			bsonx.Document(bsonx.NewDoc("control.max."+o.Time, bsonx.NewDoc(most, o.shifted(v, 1)))))
	}
	return terms
}

// shifted returns a date moved by the span of a bucket. A bucket with a time beyond the date has no
// time beyond the shifted date in the other direction.
func (o *Options) shifted(date bsonx.Value, sign int64) bsonx.Value {
	const most = math.MaxInt64 - limits.BucketSeconds*1000
	return bsonx.Date(min(max(date.Int64(), -most), most) + sign*o.Span*1000)
}

// measureBound returns predicates on a measured field without arrays. The bound of a bucket may
// have another type than v, so the predicates only exclude impossible bounds.
func measureBound(path, op string, v bsonx.Value) []bsonx.Value {
	if !hasBounds(v.Type) {
		return nil
	}
	not := func(side, op string) bsonx.Value {
		return bsonx.Document(bsonx.NewDoc("control."+side+"."+path, bsonx.NewDoc("$not", bsonx.NewDoc(op, v))))
	}
	switch op {
	case "$gt":
		return []bsonx.Value{not("max", "$lte")}
	case "$gte":
		return []bsonx.Value{not("max", "$lt")}
	case "$lt":
		return []bsonx.Value{not("min", "$gte")}
	case "$lte":
		return []bsonx.Value{not("min", "$gt")}
	default:
		return []bsonx.Value{not("max", "$lt"), not("min", "$gt")}
	}
}

// hasBounds reports whether bounds can decide comparisons with values of a type.
func hasBounds(t bsonx.Type) bool {
	switch t {
	case bsonx.TypeDouble, bsonx.TypeInt32, bsonx.TypeInt64, bsonx.TypeDecimal128, bsonx.TypeString, bsonx.TypeDate,
		bsonx.TypeObjectID, bsonx.TypeBool:
		return true
	default:
		return false
	}
}

// MetaOnly converts a query on the meta value to a query on buckets. ok is false if the query reads
// any other field.
func (o *Options) MetaOnly(query bsonx.Doc) (renamed bsonx.Doc, ok bool) {
	return o.metaOnly(query, 0)
}

func (o *Options) metaOnly(query bsonx.Doc, depth int) (bsonx.Doc, bool) {
	if depth > maxQueryDepth {
		return nil, false
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for it := query.Iter(); it.Next(); {
		name, v := string(it.Key()), it.Value()
		switch name {
		case "$and", "$or", "$nor":
			if v.Type != bsonx.TypeArray {
				return nil, false
			}
			b.StartArrayField(name)
			for sub := v.Doc().Iter(); sub.Next(); {
				if sub.Value().Type != bsonx.TypeDocument {
					return nil, false
				}
				renamed, ok := o.metaOnly(sub.Value().Doc(), depth+1)
				if !ok {
					return nil, false
				}
				b.Elem(bsonx.Document(renamed))
			}
			b.End()
		case "$comment":
			b.Value(name, v)
		default:
			path, ok := o.metaPath(name)
			if !ok {
				return nil, false
			}
			b.Value(path, v)
		}
	}
	b.End()
	return b.Bytes(), true
}

// UpdateQuery converts the query of an update to a query on buckets. It may read only the meta
// value.
func (o *Options) UpdateQuery(query bsonx.Doc) (bsonx.Doc, error) {
	if o.Meta == "" {
		return nil, refuseUpdate("Cannot perform an update on a time-series collection that does not have a metaField")
	}
	if renamed, ok := o.MetaOnly(query); ok {
		return renamed, nil
	}
	if o.firstForeign(query, 0) == "$expr" {
		return nil, refuseUpdate("Cannot use $expr when performing an update or delete on a time-series collection")
	}
	return nil, refuseUpdate(
		"Cannot perform an update or delete on a time-series collection when querying on a field that is not the metaField '%s'", o.Meta)
}

// firstForeign returns the first field or operator of a query that does not refer to the meta
// value, or "".
func (o *Options) firstForeign(query bsonx.Doc, depth int) string {
	if depth > maxQueryDepth {
		return ""
	}
	for it := query.Iter(); it.Next(); {
		name, v := string(it.Key()), it.Value()
		switch name {
		case "$and", "$or", "$nor":
			if v.Type != bsonx.TypeArray {
				return name
			}
			for sub := v.Doc().Iter(); sub.Next(); {
				if sub.Value().Type != bsonx.TypeDocument {
					return name
				}
				if found := o.firstForeign(sub.Value().Doc(), depth+1); found != "" {
					return found
				}
			}
		case "$comment":
		default:
			if _, ok := o.metaPath(name); !ok {
				return name
			}
		}
	}
	return ""
}

func refuseUpdate(format string, args ...any) error {
	return mongoerr.New(mongoerr.InvalidOptions, format, args...)
}

// MetaUpdate converts an operator update of the meta value to an update of buckets. It returns an
// error for any other update.
func (o *Options) MetaUpdate(mods bsonx.Value) (bsonx.Doc, error) {
	if mods.Type != bsonx.TypeDocument {
		return nil, refuseUpdate("Cannot perform an update on a time-series collection using a pipeline update")
	}
	if first := mods.Doc().First(); !strings.HasPrefix(string(first.Key), "$") {
		return nil, refuseUpdate("Cannot perform an update on a time-series collection using a replacement document")
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for it := mods.Doc().Iter(); it.Next(); {
		if it.Value().Type != bsonx.TypeDocument {
			b.ValueBytes(it.Key(), it.Value()) // compiling the update reports the error
			continue
		}
		b.StartDocField(string(it.Key()))
		for sub := it.Value().Doc().Iter(); sub.Next(); {
			path, ok := o.metaPath(string(sub.Key()))
			v := sub.Value()
			if ok && string(it.Key()) == "$rename" {
				v, ok = o.renamedTo(v)
			}
			if !ok {
				return nil, refuseUpdate("Cannot perform an update on a time-series collection which updates a field that is not the metaField '%s'", o.Meta)
			}
			b.Value(path, v)
		}
		b.End()
	}
	b.End()
	return b.Bytes(), nil
}

// renamedTo converts the target of $rename to a path in buckets. ok is false if the target is not a
// path of the meta value.
func (o *Options) renamedTo(target bsonx.Value) (to bsonx.Value, ok bool) {
	if target.Type != bsonx.TypeString {
		return bsonx.Missing, false
	}
	path, ok := o.metaPath(target.Str())
	return bsonx.String(path), ok
}
