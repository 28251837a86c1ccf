package main

import (
	"slices"

	"go.mongodb.org/mongo-driver/bson"
)

// hasEqualNumbers reports whether the results of a $bucketAuto differ only in the types of equal
// numbers. If equal numbers of different types are in the input, the first number becomes a bound
// or the minimum of the bucket. MongoDB does not define which number is first, because documents
// with equal keys have no order.
func hasEqualNumbers(cmd bson.D, d *difference) bool {
	if !mentionsKey(cmd, "$bucketAuto") {
		return false
	}
	a, b := lookup(d.A, "rows"), lookup(d.B, "rows")
	return equalMultiset(a, b, sameBuckets) || equalMultiset(a, b, sameExtremes(extremesOfBuckets(cmd)))
}

// sameBuckets is like equalValue, but accepts equal numbers of different types as bounds of
// buckets.
func sameBuckets(a, b any) bool {
	switch x := a.(type) {
	case bson.D:
		y, ok := b.(bson.D)
		return ok && slices.EqualFunc(x, y, func(p, q bson.E) bool {
			return p.Key == q.Key &&
				(sameBuckets(p.Value, q.Value) || p.Key == "_id" && areBounds(p.Value) && sameValue(p.Value, q.Value))
		})
	case bson.A:
		y, ok := b.(bson.A)
		return ok && slices.EqualFunc(x, y, sameBuckets)
	}
	return equalValue(a, b)
}

// extremesOfBuckets returns the output fields of a $bucketAuto that hold a smallest or largest
// value.
func extremesOfBuckets(cmd bson.D) []string {
	var names []string
	mentions(cmd, "", func(_, key string, value any) bool {
		spec, _ := value.(bson.D)
		output, _ := lookup(spec, "output").(bson.D)
		for _, e := range output {
			acc, _ := e.Value.(bson.D)
			if key == "$bucketAuto" && len(acc) == 1 &&
				slices.Contains([]string{"$minN", "$maxN", "$min", "$max"}, acc[0].Key) {
				names = append(names, e.Key)
			}
		}
		return false
	})
	return names
}

// sameExtremes returns a function that compares two rows like equalValue. In the named fields it
// accepts equal numbers of different types.
func sameExtremes(names []string) func(a, b any) bool {
	return func(a, b any) bool {
		x, xok := a.(bson.D)
		y, yok := b.(bson.D)
		return xok && yok && slices.EqualFunc(x, y, func(p, q bson.E) bool {
			return p.Key == q.Key &&
				(equalValue(p.Value, q.Value) || slices.Contains(names, p.Key) && sameValue(p.Value, q.Value))
		})
	}
}

// areBounds reports whether a value has the form of the _id of a bucket: {min, max}.
func areBounds(v any) bool {
	doc, _ := v.(bson.D)
	return len(doc) == 2 && doc[0].Key == "min" && doc[1].Key == "max"
}
