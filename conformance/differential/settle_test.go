package main

import (
	"testing"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

func TestKnownDifferences(t *testing.T) {
	reply := func(rows ...any) bson.D {
		return bson.D{{Key: "ok", Value: int32(1)}, {Key: "rows", Value: bson.A(rows)}}
	}
	failed := func(code int32) bson.D { return bson.D{{Key: "ok", Value: int32(0)}, {Key: "code", Value: code}} }
	bucket := func(low any, n int32) bson.D {
		return bson.D{{Key: "_id", Value: bson.D{{Key: "min", Value: low}, {Key: "max", Value: int32(9)}}}, {Key: "count", Value: n}}
	}
	value := func(v any) bson.D { return bson.D{{Key: "v", Value: v}} }
	decimal := func(text string) bson.D {
		d, err := primitive.ParseDecimal128(text)
		if err != nil {
			t.Fatal(err)
		}
		return value(d)
	}
	stage := func(name string, spec any) bson.D { return aggregateCommand(bson.A{op(name, spec)}) }
	buckets, cos, firstN := stage("$bucketAuto", bson.D{}), stage("$project", value(op("$cos", "$d"))), stage("$group", value(op("$firstN", bson.D{})))
	covariance := stage("$setWindowFields", value(op("$covariancePop", bson.A{"$q", op("$sin", "$n")})))
	again := aggregateCommand(bson.A{op("$project", bson.D{{Key: "w", Value: "$o.n"}}), op("$setWindowFields", fields("output", bson.D{{Key: "v", Value: 1}, {Key: "w", Value: 1}}))})
	unset := fields("field", "s", "input", op("$unsetField", fields("field", "s", "input", "$p")), "value", int32(1))
	setAgain := stage("$project", value(op("$setField", unset)))
	all := stage("$match", value(op("$elemMatch", op("$all", bson.A{int32(1)}))))
	null := bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "a.x", Value: nil}}}}
	find := bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "a.x", Value: int32(1)}}}}
	const parallel = "Plan executor error during findAndModify :: caused by :: cannot sort with keys that are parallel arrays"
	const replaces = "$replaceOne requires that 'find' be a string, found: "
	cases := []struct {
		name  string
		cmd   bson.D
		a, b  bson.D
		text  string
		known bool
	}{
		{"another bound's type", buckets, reply(bucket(int32(1), 2)), reply(bucket(1.0, 2)), "", true},
		{"another bound", buckets, reply(bucket(int32(1), 2)), reply(bucket(2.0, 2)), "", false},
		{"another count's type", buckets, reply(value(int32(1))), reply(value(1.0)), "", false},
		{"last digit", cos, reply(decimal("0.07073720166770291008818985143426870")), reply(decimal("0.07073720166770291008818985143426871")), "", true},
		{"a digit in the middle", cos, reply(decimal("0.0707372016677029")), reply(decimal("0.0707372016677028")), "", false},
		{
			"last digit of what findAndModify returns", fields("findAndModify", "c", "fields", value(op("$cos", "$d"))),
			fields("ok", int32(1), "value", decimal("0.07073720166770291008818985143426870")), fields("ok", int32(1), "value", decimal("0.07073720166770291008818985143426871")), "", true,
		},
		{"covariance", covariance, reply(decimal("0E-34")), reply(decimal("2.5E-34")), "", true},
		{"another covariance", covariance, reply(decimal("0.1")), reply(decimal("0.2")), "", false},
		{"no transcendental function", stage("$project", value("$d")), reply(decimal("0E-34")), reply(decimal("2.5E-34")), "", false},
		{"first of an array", firstN, failed(40237), reply(), "The $first accumulator is a unary operator", true},
		{"another mistake", firstN, failed(40237), failed(2), "The $first accumulator is a unary operator", false},
		{"text of an array", cos, reply(), failed(241), "Unsupported conversion from array to string in $convert", true},
		{"text of a number", cos, reply(), failed(241), "Failed to parse number 'x' in $convert", false},
		{"written again", again, reply(bson.D{{Key: "w", Value: 1}, {Key: "v", Value: 2}}), reply(bson.D{{Key: "v", Value: 2}, {Key: "w", Value: 1}}), "", true},
		{"others in another order", again, reply(bson.D{{Key: "x", Value: 1}, {Key: "v", Value: 2}}), reply(bson.D{{Key: "v", Value: 2}, {Key: "x", Value: 1}}), "", false},
		{"set again", setAgain, reply(bson.D{{Key: "s", Value: 1}, {Key: "v", Value: 2}}), reply(bson.D{{Key: "v", Value: 2}, {Key: "s", Value: 1}}), "", true},
		{"others than what is set", setAgain, reply(bson.D{{Key: "x", Value: 1}, {Key: "v", Value: 2}}), reply(bson.D{{Key: "v", Value: 2}, {Key: "x", Value: 1}}), "", false},
		{"written down without its path", all, failed(2), reply(), "unknown top level operator: $eq. If", true},
		{"another top level operator", all, failed(2), reply(), "unknown top level operator: $foo", false},
		{"sort of what only one finds", null, failed(2), reply(), parallel, true},
		{"sort of what both find", find, failed(2), reply(), parallel, false},
		{"another mistake in a sort", null, failed(2), reply(), "bad sort", false},
		{"replaced by a regular expression", cos, reply(), failed(51745), replaces + "regex", true},
		{"replaced by a number", cos, reply(), failed(51745), replaces + "int", false},
		{"newer code", cos, failed(10503904), failed(51746), "", true},
		{"newer code for another", cos, failed(10503904), failed(51745), "", false},
	}
	for _, c := range cases {
		if got := knownDifference(false, c.cmd, &difference{A: c.a, B: c.b, Message: c.text}) != nil; got != c.known {
			t.Errorf("%s: known %v, want %v", c.name, got, c.known)
		}
	}
}

func TestKnownMergeOrder(t *testing.T) {
	reply := func(rows ...any) bson.D {
		return bson.D{{Key: "ok", Value: int32(1)}, {Key: "rows", Value: bson.A(rows)}}
	}
	given, sorted := fields("_id", 1, "e", 1, "b", 2), fields("_id", 1, "b", 2, "e", 1)
	merge := aggregateCommand(bson.A{op("$merge", "o")})
	for _, c := range []struct {
		name string
		cmd  bson.D
		a, b bson.D
		want bool
	}{
		{"by names", merge, reply(sorted), reply(given), true},
		{"one of two", merge, reply(sorted, fields("_id", 2, "z", 1, "y", 2)), reply(fields("_id", 2, "z", 1, "y", 2), given), true},
		{"as they came in the other", merge, reply(given), reply(sorted), false},
		{"another value", merge, reply(sorted), reply(fields("_id", 1, "e", 1, "b", 3)), false},
		{"no $merge", aggregateCommand(bson.A{op("$out", "o")}), reply(sorted), reply(given), false},
	} {
		if got := knownDifference(false, c.cmd, &difference{A: c.a, B: c.b, After: true}) != nil; got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
