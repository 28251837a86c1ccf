package main

import (
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// known is a difference that is intended, or that MongoDB leaves open.
type known struct {
	Name   string
	Reason string
	Match  func(scanB bool, cmd bson.D, d *difference) bool
}

// knownDifferences are tried in order.
var knownDifferences = []known{
	{
		Name:   "multi-write error order",
		Reason: "a write of several documents stops at the first that fails, and which one that is depends on the plan",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			if d.After {
				return isMulti(cmd) && d.Failed
			}
			return isMulti(cmd) && hasErrors(d.A) && hasErrors(d.B)
		},
	},
	{
		Name:   "which of two reasons refuses an index or a sort",
		Reason: "where documents have both parallel arrays (171, in a sort 2) and a field that is also an array position (16746), the order of the checks is open",
		Match: func(_ bool, _ bson.D, d *difference) bool {
			a, b := errorCode(d.A), errorCode(d.B)
			return isRefusal(d.A) && isRefusal(d.B) || a == 2 && b == 16746 || a == 16746 && b == 2
		},
	},
	{
		Name:   "order of upserted fields",
		Reason: "MongoDB keeps the equalities of an upsert's query in a hash table: their order in the new document changes from call to call",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			return isUpsert(cmd) && equalReply(sortFields(d.A).(bson.D), sortFields(d.B).(bson.D), false)
		},
	},
	{
		Name:   "distinct by index of missing fields and nested arrays",
		Reason: "an index entry says null for a missing field and undefined for an empty array, and MongoDB's DISTINCT_SCAN returns them and takes nested arrays apart, which its COLLSCAN does not; Sheaf's answer does not depend on the plan",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			a, aok := lookup(d.A, "values").(bson.A)
			b, bok := lookup(d.B, "values").(bson.A)
			return aok && bok && cmd[0].Key == "distinct" && equalMultiset(leaves(a), leaves(b), sameValue)
		},
	},
	{
		Name:   "document that an index refuses",
		Reason: "with -scan-b only server A has the index that refuses two arrays in one document (171) or a field that is also an array position (16746)",
		Match: func(scanB bool, _ bson.D, d *difference) bool {
			return scanB && isRefusal(d.A)
		},
	},
	{
		Name:   "null behind an array without documents",
		Reason: "the 9.0 engine finds {a: []} and {a: [1]} by {\"a.x\": null}, which it may then not be able to sort; up to 8.0, as in Sheaf, an array without documents has no a.x to compare",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			unsorted := errorCode(d.A) == 2 && strings.Contains(d.Message, "cannot sort with keys that are parallel arrays")
			return (isOK(d.A) || unsorted) && isOK(d.B) && mentionsNullBehindDot(cmd)
		},
	},
	{
		Name:   "array filter that nothing can match",
		Reason: "MongoDB simplifies {e: {$all: []}} to a constant and then misses its field name (9); Sheaf takes it as it stands",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			return mentionsKey(cmd, "arrayFilters") && max(errorCode(d.A), writeErrorCode(d.A)) == 9 && mentionsEmptyAll(cmd)
		},
	},
	{
		Name:   "upsert by a schema that no document satisfies",
		Reason: "MongoDB simplifies {$jsonSchema: {bsonType: \"number\"}} to false and derives nothing from the query; Sheaf keeps its equalities",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			return isUpsert(cmd) && mentionsKey(cmd, "$jsonSchema")
		},
	},
	{
		Name:   "order of times that one update made",
		Reason: "an update of several documents gives each the next timestamp, and the millisecond may change meanwhile, in the order in which it comes to them",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			return hasField(cmd, "sort") && strings.Contains(show(d.A), "the present time") && sameCount(d.A, d.B)
		},
	},
	{
		Name:   "order by a position in an array that is projected away",
		Reason: "the 9.0 engine may project before it sorts: {\"a.1\": 1} leaves [] of [\"x\", 1], which then sorts as that; up to 8.0, as in Sheaf, a document is sorted as it was stored",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			return sortsByProjectedPosition(cmd) && sameCount(d.A, d.B)
		},
	},
	{
		Name:   "null behind an array without documents, in a join",
		Reason: "as above: the 9.0 engine joins null with {a: []} and {a: [1]} by a.x; the replies are alike without such documents",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			names := joinedArrays(cmd)
			return len(names) > 0 && equalReply(withoutBare(d.A, names).(bson.D), withoutBare(d.B, names).(bson.D), false)
		},
	},
	{
		Name:   "a field that two stages write",
		Reason: "a stage that takes a field away, or computes nothing for it, leaves its place in MongoDB's document, and a later stage puts the field there; in Sheaf it is added at the end. The other fields are in one order",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			again := writtenAgain(cmd)
			return len(again) > 0 && equalReply(sortFields(d.A).(bson.D), sortFields(d.B).(bson.D), isOrdered(cmd, d)) &&
				equalReply(withoutFields(d.A, again).(bson.D), withoutFields(d.B, again).(bson.D), isOrdered(cmd, d))
		},
	},
	{
		Name:   "fault of the engine in an n that is a variable",
		Reason: "the 9.0 engine loses a variable of a $let that is a constant where it is the n of $maxN and others (17276)",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			isN := func(_, key string, value any) bool {
				spec, _ := value.(bson.D)
				n, _ := lookup(spec, "n").(string)
				return slices.Contains([]string{"$firstN", "$lastN", "$minN", "$maxN"}, key) && strings.HasPrefix(n, "$$")
			}
			return errorCode(d.A) == 17276 && errorCode(d.B) != 17276 && mentionsKey(cmd, "$let") && mentions(cmd, "", isN)
		},
	},
	{
		Name:   "fault of the engine in an $elemMatch with $all",
		Reason: "in a $match behind another stage, the engine writes {$elemMatch: {$all: [1]}} down as {$elemMatch: {$eq: …}} without its path, and then cannot read it",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			return errorCode(d.A) == 2 && isOK(d.B) && strings.Contains(d.Message, "unknown top level operator: $eq") && mentions(cmd, "", func(_, key string, value any) bool {
				inner, _ := value.(bson.D)
				return key == "$elemMatch" && hasField(inner, "$all")
			})
		},
	},
	{
		Name:   "count of a view up to 0",
		Reason: "a limit of 0 means none; MongoDB makes it a $limit of a view's pipeline, which refuses it",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			return cmd[0].Key == "count" && errorCode(d.A) == 15958 && lookup(cmd, "limit") == int32(0)
		},
	},
	{
		Name:   "codes that the 9.0 engine gives to mistakes that had others",
		Reason: "$replaceOne and $replaceAll of what is no string, $indexOfArray's start, $graphLookup without an argument, $mergeObjects in $bucketAuto; Sheaf has the codes of 8.0",
		Match: func(_ bool, _ bson.D, d *difference) bool {
			code := max(errorCode(d.A), writeErrorCode(d.A))
			return olderCode(code) != code && max(errorCode(d.B), writeErrorCode(d.B)) == olderCode(code)
		},
	},
	{
		Name:   "conflict of paths with an empty document",
		Reason: "the 9.0 engine takes {$addFields: {a: {}, \"a.b\": 1}} as if a were not there; it refuses all other conflicting paths (40176), as Sheaf does these",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			return max(errorCode(d.B), writeErrorCode(d.B)) == 40176 && mentions(cmd, "", func(_, key string, value any) bool {
				doc, _ := value.(bson.D)
				return (key == "$addFields" || key == "$set") && slices.ContainsFunc(doc, func(e bson.E) bool { v, isDoc := e.Value.(bson.D); return isDoc && len(v) == 0 })
			})
		},
	},
	{
		Name:   "which of equal values bounds a bucket",
		Reason: "of values that are equal though their types differ, $bucketAuto puts the one first that came first: without a sort before it, MongoDB's order is that of insertion and Sheaf's that of _id",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			return mentionsKey(cmd, "$bucketAuto") && equalMultiset(lookup(d.A, "rows"), lookup(d.B, "rows"), sameBuckets)
		},
	},
	{
		Name:   "which of equal numbers a bucket keeps",
		Reason: "of numbers that are equal though their types differ, $minN, $maxN, $min and $max order and keep the ones that came first, and $bucketAuto sorts its documents, of which those with equal keys come in any order",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			names := extremesOfBuckets(cmd)
			return len(names) > 0 && equalMultiset(lookup(d.A, "rows"), lookup(d.B, "rows"), sameExtremes(names))
		},
	},
	{
		Name:   "last digit of a decimal function",
		Reason: "of the 34 digits of a transcendental function, the last ones differ, and so does the last bit of a double; a covariance multiplies such a rest, up to 2^-52 of a value near 1, with a deviation, up to about 30 of the values here, which a sum of 0 shows",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			nearly := nearlyEqual(0)
			if mentionsKey(cmd, "$covariancePop") || mentionsKey(cmd, "$covarianceSamp") {
				nearly = nearlyEqual(-14)
			}
			a, b := d.A, d.B
			if mentionsKey(cmd, "$addToSet") { // which has no order
				a, b = sortArrays(a).(bson.D), sortArrays(b).(bson.D)
			}
			return slices.ContainsFunc(transcendental, func(name string) bool { return mentionsKey(cmd, name) }) &&
				equalReplyBy(a, b, nearly)
		},
	},
	{
		Name:   "the first or last element alone",
		Reason: "the 9.0 engine makes {$firstN: {n: 1, input: []}} a {$first: []}, and then refuses its array",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			return isOK(d.B) && errorCode(d.A) == 40237 && strings.Contains(d.Message, "accumulator is a unary operator") &&
				(mentionsKey(cmd, "$firstN") || mentionsKey(cmd, "$lastN"))
		},
	},
	{
		Name:   "conversions to text that 8.0 does not know",
		Reason: "the 9.0 engine writes arrays, objects, timestamps and others as text, and arrays and objects as binData; 8.0, and Sheaf, refuse them (241)",
		Match: func(_ bool, _ bson.D, d *difference) bool {
			return max(errorCode(d.B), writeErrorCode(d.B)) == 241 && newText.MatchString(d.Message)
		},
	},
	{
		Name:   "regular expressions that replace",
		Reason: "the 9.0 engine takes a regular expression as the find of $replaceOne and $replaceAll; 8.0, and Sheaf, refuse it (51745)",
		Match: func(_ bool, _ bson.D, d *difference) bool {
			return max(errorCode(d.B), writeErrorCode(d.B)) == 51745 && strings.Contains(d.Message, "requires that 'find' be a string, found: regex")
		},
	},
	{
		Name:   "order of fields that a $merge inserts",
		Reason: "where a unique index refuses a document of a $merge at first, the 9.0 engine makes the new ones by $set, in the order of the fields' names; in Sheaf they are as they came",
		Match: func(_ bool, cmd bson.D, d *difference) bool {
			return d.After && mentionsKey(cmd, "$merge") && equalMultiset(lookup(d.A, "rows"), lookup(d.B, "rows"), func(a, b any) bool {
				return equalValue(a, b) || equalValue(a, byNames(b))
			})
		},
	},
	{
		Name:   "fault of the engine that is compared with",
		Reason: "the 9.0 alpha engine answers a comparison with a symbol on an indexed field with an internal error",
		Match:  func(_ bool, _ bson.D, d *difference) bool { return errorCode(d.A) == 4457011 },
	},
	{
		Name:   "which of two mistakes in a query is reported",
		Reason: "a feature that is not allowed (224) and an operator that does not parse (2): the order of the checks is open",
		Match: func(_ bool, _ bson.D, d *difference) bool {
			a, b := max(errorCode(d.A), writeErrorCode(d.A)), max(errorCode(d.B), writeErrorCode(d.B))
			return a == 224 && b == 2 || a == 2 && b == 224
		},
	},
}

// newerCodes are codes of the 9.0 engine and what 8.0 answers.
var newerCodes = map[int32]int32{
	10503902: 51744, 10503903: 51745, 10503904: 51746, // $replaceOne, $replaceAll: replacement, find, input
	9711600: 40096, 9711601: 40097, // $indexOfArray: the start's type, its sign
	12109300: 40105, // $graphLookup without what it needs
	8745900:  40400, // $mergeObjects in $bucketAuto
}

// sameBuckets is equalValue but for the types of the numbers that bound buckets.
func sameBuckets(a, b any) bool {
	switch x := a.(type) {
	case bson.D:
		y, ok := b.(bson.D)
		return ok && slices.EqualFunc(x, y, func(p, q bson.E) bool {
			return p.Key == q.Key && (sameBuckets(p.Value, q.Value) || p.Key == "_id" && areBounds(p.Value) && sameValue(p.Value, q.Value))
		})
	case bson.A:
		y, ok := b.(bson.A)
		return ok && slices.EqualFunc(x, y, sameBuckets)
	}
	return equalValue(a, b)
}

// extremesOfBuckets returns the fields that a $bucketAuto sets to the smallest or largest of values.
func extremesOfBuckets(cmd bson.D) []string {
	var names []string
	mentions(cmd, "", func(_, key string, value any) bool {
		spec, _ := value.(bson.D)
		output, _ := lookup(spec, "output").(bson.D)
		for _, e := range output {
			acc, _ := e.Value.(bson.D)
			if key == "$bucketAuto" && len(acc) == 1 && slices.Contains([]string{"$minN", "$maxN", "$min", "$max"}, acc[0].Key) {
				names = append(names, e.Key)
			}
		}
		return false
	})
	return names
}

// sameExtremes returns equalValue of two rows but for the types of numbers in some of their fields.
func sameExtremes(names []string) func(a, b any) bool {
	return func(a, b any) bool {
		x, xok := a.(bson.D)
		y, yok := b.(bson.D)
		return xok && yok && slices.EqualFunc(x, y, func(p, q bson.E) bool {
			return p.Key == q.Key && (equalValue(p.Value, q.Value) || slices.Contains(names, p.Key) && sameValue(p.Value, q.Value))
		})
	}
}

// areBounds reports whether a value is the _id of a bucket.
func areBounds(v any) bool {
	doc, _ := v.(bson.D)
	return len(doc) == 2 && doc[0].Key == "min" && doc[1].Key == "max"
}

// olderCode returns the code of 8.0 for one of the 9.0 engine.
func olderCode(code int32) int32 {
	if older, isNew := newerCodes[code]; isNew {
		return older
	}
	return code
}

var newText = regexp.MustCompile(`Unsupported conversion from ((array|object|timestamp|regex|javascript|minKey|maxKey|dbPointer|symbol|javascriptWithScope) to string|(array|object) to binData)`)

// transcendental are the operators whose decimal results are not exact.
var transcendental = []string{
	"$exp", "$ln", "$log", "$log10", "$pow", "$sqrt", "$sin", "$cos", "$tan", "$asin", "$acos", "$atan", "$atan2", "$sinh", "$cosh", "$tanh",
	"$asinh", "$acosh", "$atanh", "$degreesToRadians", "$radiansToDegrees", "$stdDevPop", "$stdDevSamp",
}

// nearlyEqual returns equalValue but for the last digits of decimals: they may differ by 1e-30 of the first, and where an exponent is
// given, by ten to that.
func nearlyEqual(exponent int64) func(a, b any) bool {
	absolute := new(big.Rat)
	if exponent < 0 {
		absolute.SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(-exponent), nil))
	}
	return func(a, b any) bool { return nearly(a, b, absolute) }
}

func nearly(a, b any, absolute *big.Rat) bool {
	switch x := a.(type) {
	case bson.D:
		y, ok := b.(bson.D)
		return ok && slices.EqualFunc(x, y, func(p, q bson.E) bool { return p.Key == q.Key && nearly(p.Value, q.Value, absolute) })
	case bson.A:
		y, ok := b.(bson.A)
		return ok && slices.EqualFunc(x, y, func(p, q any) bool { return nearly(p, q, absolute) })
	case primitive.Decimal128:
		y, ok := b.(primitive.Decimal128)
		return ok && nearDecimals(x, y, absolute)
	case float64:
		limit, _ := absolute.Float64()
		y, ok := b.(float64)
		return ok && (equalValue(a, b) || math.Abs(x-y) <= limit)
	}
	return equalValue(a, b)
}

func nearDecimals(x, y primitive.Decimal128, absolute *big.Rat) bool {
	p, pok := numberRat(x)
	q, qok := numberRat(y)
	if !pok || !qok {
		return x.String() == y.String()
	}
	gap := new(big.Rat).Sub(p, q)
	limit := new(big.Rat).Mul(p.Abs(p), big.NewRat(1, 1_000_000_000_000_000))
	limit.Mul(limit, big.NewRat(1, 1_000_000_000_000_000))
	if limit.Cmp(absolute) < 0 {
		limit = absolute
	}
	return gap.Abs(gap).Cmp(limit) <= 0
}

// numberRat returns a finite decimal's value.
func numberRat(d primitive.Decimal128) (*big.Rat, bool) {
	text, _ := numberText(d)
	return new(big.Rat).SetString(text)
}
