package filter

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// failure describes how to explain that an operator did not match or, under a negation, that it
// matched.
type failure struct {
	// no is the reason for a mismatch, and yes the reason for an unwanted match.
	no, yes string
	// whole reports that an array is explained as one value and not by its elements.
	whole bool
	// expected lists the names of the types to which the operator applies. If it is empty, the
	// operator applies to all types.
	expected []string
	// showTypes adds the types of the considered values to the explanation.
	showTypes bool
	// exists marks $exists, whose explanation consists only of the reason.
	exists bool
}

var (
	comparisonFailure = failure{no: reasonComparison, yes: "comparison succeeded"}
	inFailure         = failure{no: "no matching value found in array", yes: "matching value found in array"}
	withinFailure     = failure{
		no:  "none of the considered geometries were contained within the expression's geometry",
		yes: "at least one of the considered geometries was contained within the expression's geometry", whole: true,
	}
	bitsFailure = failure{
		no: "bitwise operator failed to match", yes: "bitwise operator matched successfully",
		expected: []string{"binData", "decimal", "double", "int", "long"},
	}
)

// failures maps operator names to their descriptions.
var failures = map[string]failure{
	"$eq":  comparisonFailure,
	"$gt":  comparisonFailure,
	"$gte": comparisonFailure,
	"$lt":  comparisonFailure,
	"$lte": comparisonFailure,
	"$ne":  comparisonFailure,
	"$id":  comparisonFailure,
	"$ref": comparisonFailure,
	"$db":  comparisonFailure,
	"$in":  inFailure,
	"$nin": inFailure,
	"$all": {
		no: "array did not contain all specified values", yes: "array did contain all specified values", whole: true,
	},
	"$bitsAllClear": bitsFailure,
	"$bitsAllSet":   bitsFailure,
	"$bitsAnyClear": bitsFailure,
	"$bitsAnySet":   bitsFailure,
	"$elemMatch": {
		no: "array did not satisfy the child predicate", yes: "array did satisfy the child predicate", whole: true,
		expected: []string{"array"},
	},
	"$exists":    {exists: true},
	"$geoWithin": withinFailure,
	"$within":    withinFailure,
	"$geoIntersects": {
		no:  "none of the considered geometries intersected the expression's geometry",
		yes: "at least one of the considered geometries intersected the expression's geometry", whole: true,
	},
	"$mod": {
		no: "$mod did not evaluate to expected remainder", yes: "$mod did evaluate to expected remainder",
		expected: []string{"decimal", "double", "int", "long"},
	},
	"$regex": {
		no: "regular expression did not match", yes: "regular expression did match",
		expected: []string{"regex", "string", "symbol"},
	},
	"$size": {
		no: "array length was not equal to given size", yes: "array length was equal to given size", whole: true,
		expected: []string{"array"},
	},
	"$type": {no: reasonType, yes: "type did match", showTypes: true},
}

// maxConsidered is the largest number of values in an explanation.
const maxConsidered = 10

// considered appends the reason and the values at the path.
func (e *explainer) considered(f failure, path *Path, inverted bool) {
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
func (e *explainer) values(f failure, path *Path) (values []bsonx.Value, found bool) {
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
