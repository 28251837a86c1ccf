package main

import (
	"testing"

	"go.mongodb.org/mongo-driver/bson"
)

func reply(rows ...any) bson.D { return fields("ok", int32(1), "rows", bson.A(rows)) }

// TestSettledByComparison checks the settlements that only compare answers. Each must accept
// exactly one kind of deviation.
func TestSettledByComparison(t *testing.T) {
	bucket := func(low any, n int32) bson.D { return fields("_id", fields("min", low, "max", int32(9)), "count", n) }
	value := func(v any) bson.D { return fields("v", v) }
	stage := func(name string, spec any) bson.D { return aggregateCommand(bson.A{op(name, spec)}) }
	buckets, cos := stage("$bucketAuto", bson.D{}), stage("$project", value(op("$cos", "$d")))
	covariance := stage("$setWindowFields", value(op("$covariancePop", bson.A{"$q", op("$sin", "$n")})))
	upsert := mustParse(t, `{"update":"c","updates":[{"q":{"a":1},"u":{},"upsert":true}]}`)
	update := mustParse(t, `{"update":"c","updates":[{"q":{"a":1},"u":{}}]}`)
	modify := mustParse(t, `{"findAndModify":"c","query":{"a":1},"upsert":true}`)
	merge := aggregateCommand(bson.A{op("$merge", "o")})
	given, sorted := fields("_id", 1, "e", 1, "b", 2), fields("_id", 1, "b", 2, "e", 1)
	other, otherSorted := fields("_id", 2, "z", 1, "y", 2), fields("_id", 2, "y", 2, "z", 1)
	precise, rest := decimal("0.07073720166770291008818985143426870"), decimal("0.07073720166770291008818985143426871")
	for _, c := range []struct {
		name string
		cmd  bson.D
		a, b bson.D
		want string
	}{
		{"another bound's type", buckets, reply(bucket(int32(1), 2)), reply(bucket(1.0, 2)), "one of equal numbers"},
		{"another bound", buckets, reply(bucket(int32(1), 2)), reply(bucket(2.0, 2)), ""},
		{"another count's type", buckets, reply(value(int32(1))), reply(value(1.0)), ""},
		{"last digit", cos, reply(value(precise)), reply(value(rest)), "last digits"},
		{
			"a digit in the middle", cos, reply(value(decimal("0.0707372016677029"))),
			reply(value(decimal("0.0707372016677028"))), "",
		},
		{
			"last digit of what findAndModify returns", fields("findAndModify", "c", "fields", value(op("$cos", "$d"))),
			fields("ok", int32(1), "value", value(precise)),
			fields("ok", int32(1), "value", value(rest)), "last digits",
		},
		{"covariance", covariance, reply(value(decimal("0E-34"))), reply(value(decimal("2.5E-34"))), "last digits"},
		{"another covariance", covariance, reply(value(decimal("0.1"))), reply(value(decimal("0.2"))), ""},
		{
			"no transcendental function", stage("$project", value("$d")), reply(value(decimal("0E-34"))),
			reply(value(decimal("2.5E-34"))), "",
		},
		{"upserted", upsert, reply(given, other), reply(sorted, other), "order of an upserted document's fields"},
		{"two upserted", upsert, reply(given, other), reply(sorted, otherSorted), ""},
		{"upserted with another value", upsert, reply(given), reply(fields("_id", 1, "b", 3, "e", 1)), ""},
		{"no upsert", update, reply(given), reply(sorted), ""},
		{
			"upserted by findAndModify", modify, fields("ok", int32(1), "value", given),
			fields("ok", int32(1), "value", sorted), "order of an upserted document's fields",
		},
		{
			"upserted in another reply", modify, fields("ok", int32(1), "n", 1, "value", given),
			fields("ok", int32(1), "n", 2, "value", sorted), "",
		},
		{"by names", merge, reply(sorted), reply(given), "fields that a $merge inserts where a unique index refused it at first"},
		{"one of two by names", merge, reply(sorted, other), reply(other, given), "fields that a $merge inserts where a unique index refused it at first"},
		{"as they came in the other", merge, reply(given), reply(sorted), ""},
		{"merged with another value", merge, reply(sorted), reply(fields("_id", 1, "e", 1, "b", 3)), ""},
		{"no $merge", aggregateCommand(bson.A{op("$out", "o")}), reply(sorted), reply(given), ""},
		{
			"internal error", cos, fields("ok", int32(0), "code", int32(engineFault)), reply(),
			"internal error of the 9.0 engine",
		},
		{"another error", cos, fields("ok", int32(0), "code", int32(2)), reply(), ""},
	} {
		got := ""
		for _, s := range settlements {
			switch s.Name {
			case "order of an upserted document's fields", "fields that a $merge inserts where a unique index refused it at first", "one of equal numbers", "last digits", "internal error of the 9.0 engine":
				if got == "" && s.Holds(nil, t.Context(),
					&asked{cmd: c.cmd, whole: c.cmd, difference: &difference{A: c.a, B: c.b, After: true}}) {
					got = s.Name
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: settled by %q, want %q", c.name, got, c.want)
		}
	}
}

func TestOlderCodes(t *testing.T) {
	raw := fields("ok", 0.0, "code", int32(10503904))
	if got := normalise(raw); errorCode(got) != 51746 {
		t.Errorf("%v", got)
	}
	written := normalise(fields("ok", 1.0, "n", int32(0), "writeErrors",
		bson.A{fields("index", int32(0), "code", int32(9711600), "errmsg", "x")}))
	if got := writeErrorCode(written); got != 40096 {
		t.Errorf("%v", written)
	}
}

func TestGuarded(t *testing.T) {
	for _, c := range []struct {
		path      string
		predicate any
		want      string
	}{
		{"b.a", nil, `{"$and":[{"b.a":null},{"b":{"$not":{"$size":0}}},{"b":{"$not":{"$elemMatch":{"$not":{"$type":"object"}}}}}]}`},
		{"b.a", op("$nin", bson.A{nil}), `{"$and":[{"b.a":{"$nin":[null]}},{"b":{"$not":{"$size":0}}},{"b":{"$not":{"$elemMatch":{"$not":{"$type":"object"}}}}}]}`},
		{"b.a", int32(1), `{"b.a":1}`},
		{"b", nil, `{"b":null}`},
	} {
		if got := (bson.D{guarded(c.path, c.predicate)}); show(got) != show(mustParse(t, c.want)) {
			t.Errorf("%s: %s", c.path, show(got))
		}
	}
}

func TestIsMixture(t *testing.T) {
	before, after := reply(fields("_id", 1, "a", 1), fields("_id", 2, "a", 1)),
		reply(fields("_id", 1, "a", 2), fields("_id", 2, "a", 2))
	for _, c := range []struct {
		left bson.D
		want bool
	}{
		{reply(fields("_id", 2, "a", 1), fields("_id", 1, "a", 2)), true},
		{before, true},
		{after, true},
		{reply(fields("_id", 1, "a", 3), fields("_id", 2, "a", 1)), false},
		{reply(fields("_id", 1, "a", 1)), false},
	} {
		if got := isMixture(c.left, before, after); got != c.want {
			t.Errorf("%s: %v", show(c.left), got)
		}
	}
}

// TestNoPositionsOfSort: a find does not project a path with an array position if it sorts by the
// same path.
func TestNoPositionsOfSort(t *testing.T) {
	find := mustParse(t, `{"find":"c","projection":{"a.1":1,"b":1,"c.0":1}}`)
	if got := show(withoutPositions(find, fields("a.1", 1, "b", 1))); got != show(mustParse(t,
		`{"find":"c","projection":{"b":1,"c.0":1}}`)) {
		t.Error(got)
	}
}
