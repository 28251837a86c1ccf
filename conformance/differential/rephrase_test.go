package main

import (
	"math"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/bson"
)

func TestRewriteCalls(t *testing.T) {
	cases := []struct {
		name, in, want string
		call           func(name string, arg any) any
	}{
		{"a double's text", `{"v":{"$toUpper":"$n"}}`, `{"v":{"$toUpper":{"$cond":[{"$in":[{"$type":"$n"},["double"]]},{"$toString":"$n"},"$n"]}}}`, spellDoubles},
		{
			"not in a literal", `{"v":{"$literal":{"$toUpper":"$n"}}}`,
			`{"v":{"$literal":{"$toUpper":"$n"}}}`, spellDoubles,
		},
		{
			"the first operand only", `{"v":{"$substr":["$n",0,2]}}`,
			`{"v":{"$substr":[{"$cond":[{"$in":[{"$type":"$n"},["double"]]},{"$toString":"$n"},"$n"]},0,2]}}`, spellDoubles,
		},
		{
			"onError", `{"v":{"$convert":{"input":"$n","to":5,"onError":1}}}`,
			`{"v":{"$cond":[{"$in":[{"$type":"$n"},["object","array"]]},1,{"$convert":{"input":"$n","to":5,"onError":1}}]}}`, refuseConversion,
		},
		{
			"no onError", `{"v":{"$convert":{"input":"$n","to":5}}}`,
			`{"v":{"$cond":[{"$in":[{"$type":"$n"},["object","array"]]},{"$toInt":{"$concat":["no number: ",{"$type":"$$ROOT"}]}},{"$convert":{"input":"$n","to":5}}]}}`, refuseConversion,
		},
		{"a constant document", `{"v":{"$toString":{"a":1}}}`, `{"v":{"$toInt":"no number"}}`, refuseConversion},
		{
			"a document with a field", `{"v":{"$toString":{"a":"$n"}}}`,
			`{"v":{"$cond":[{"$in":[{"$type":{"a":"$n"}},["object","array","regex","javascript","javascriptWithScope","symbol","timestamp","minKey","maxKey","dbPointer"]]},{"$toInt":{"$concat":["no number: ",{"$type":"$$ROOT"}]}},{"$toString":[{"a":"$n"}]}]}}`, refuseConversion,
		},
		{
			"a timestamp", `{"v":{"$toString":[{"$timestamp":{"t":5,"i":1}}]}}`,
			`{"v":{"$toInt":"no number"}}`, refuseConversion,
		},
		{"a literal document", `{"v":{"$toString":{"$literal":{}}}}`, `{"v":{"$toInt":"no number"}}`, refuseConversion},
		{
			"$unsetField", `{"v":{"$unsetField":{"field":"a","input":"$o"}}}`,
			`{"v":{"$arrayToObject":{"$objectToArray":{"$unsetField":{"field":"a","input":"$o"}}}}}`, rebuildUnset,
		},
		{"a number as find", `{"v":{"$replaceOne":{"input":"$n","find":"$r"}}}`, `{"v":{"$replaceOne":{"input":"$n","find":{"$cond":[{"$in":[{"$type":"$r"},["regex"]]},1,"$r"]}}}}`, refuseRegex},
		{
			"what 8.0 knows", `{"v":{"$convert":{"input":"$n","to":"int","onError":1}}}`,
			`{"v":{"$convert":{"input":"$n","to":"int","onError":1}}}`, refuseConversion,
		},
		{"accumulators", `{"v":{"$stdDevPop":"$n"}}`, `{"v":{"$stdDevPop":"$n"}}`, roundDoubles},
		{
			"a result", `{"v":{"$sum":{"$sin":"$n"}}}`,
			`{"v":{"$sum":{"$let":{"vars":{"result":{"$sin":"$n"}},"in":{"$cond":[{"$in":[{"$type":"$$result"},["double"]]},{"$toDouble":{"$toDecimal":"$$result"}},"$$result"]}}}}}`,
			roundDoubles,
		},
		{"accumulators, three times", `{"v":{"$stdDevPop":"$n"}}`, `{"v":{"$stdDevPop":"$n"}}`, roundThrice},
		{
			"three times a result", `{"v":{"$exp":"$n"}}`,
			`{"v":{"$let":{"vars":{"result":{"$exp":"$n"}},"in":{"$cond":[{"$in":[{"$type":"$$result"},["double"]]},{"$toDouble":{"$toDecimal":{"$multiply":["$$result",3]}}},"$$result"]}}}}`,
			roundThrice,
		},
	}
	for _, c := range cases {
		in, err := parseJSON([]byte(c.in))
		if err != nil {
			t.Fatal(err)
		}
		want, err := parseJSON([]byte(c.want))
		if err != nil {
			t.Fatal(err)
		}
		got, changed := rewriteCalls(in, c.call)
		if show(got.(bson.D)) != show(want) || changed != (c.in != c.want) {
			t.Errorf("%s: %s, changed %v", c.name, show(got.(bson.D)), changed)
		}
	}
}

func TestNearDoubles(t *testing.T) {
	cases := []struct {
		name string
		a, b any
		near bool
	}{
		{
			"last bit in a decimal", decimal("0.2195339907721939914602896185967839"),
			decimal("0.2195339907721935172015578429290109"), true,
		},
		{"more than that", decimal("0.2195339907721939"), decimal("0.2195339907821939"), false},
		{"last digit of a text", "-0.848925964814655", "-0.8489259648146551", true},
		{"another number", "-0.848925964814655", "-0.848925964814755", false},
		{"another text", "a", "b", false},
		{"nested", bson.D{{"v", bson.A{"1.0000000000000001"}}}, bson.D{{"v", bson.A{"1"}}}, true},
		{"another name", bson.D{{"v", 1}}, bson.D{{"w", 1}}, false},
	}
	for _, c := range cases {
		if got := nearDoubles(c.a, c.b); got != c.near {
			t.Errorf("%s: %v, want %v", c.name, got, c.near)
		}
	}
}

func TestWithoutConjunct(t *testing.T) {
	match := func(text string) any {
		doc, err := parseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return op("$match", doc)
	}
	cases := []struct {
		in   string
		want []string
	}{
		{`{"a":1}`, nil},
		{`{"a":1,"b":2}`, []string{`{"b":2}`, `{"a":1}`}},
		{`{"$and":[{"a":1},{"b":2}]}`, []string{`{"$and":[{"b":2}]}`, `{"$and":[{"a":1}]}`}},
		{`{"$or":[{"a":1},{"b":2}]}`, nil},
		{`{"$expr":{"$and":["$a","$b"]}}`, []string{`{"$expr":{"$and":["$b"]}}`, `{"$expr":{"$and":["$a"]}}`}},
		{`{"$expr":{"$or":["$a","$b"]}}`, nil},
	}
	for _, c := range cases {
		got := withoutConjunct(match(c.in))
		if len(got) != len(c.want) {
			t.Errorf("%s: %v", c.in, got)
			continue
		}
		for i := range got {
			if show(got[i].(bson.D)) != show(match(c.want[i]).(bson.D)) {
				t.Errorf("%s: %s, want %s", c.in, show(got[i].(bson.D)), c.want[i])
			}
		}
	}
}

func TestSettled(t *testing.T) {
	parse := func(text string) bson.D {
		doc, err := parseJSON([]byte(`{"aggregate":"c","pipeline":` + text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	const fixed = `{"$group":{"_id":null,"all":{"$push":"$$ROOT"}}},{"$project":{"all":{"$sortArray":{"input":"$all","sortBy":1}}}},{"$unwind":"$all"},{"$replaceRoot":{"newRoot":"$all"}}`
	cases := []struct{ in, want string }{
		{`[{"$match":{"a":1}},{"$sort":{"a":1}}]`, `[{"$match":{"a":1}},{"$sort":{"a":1}}]`},
		{`[{"$sort":{"a":1}},{"$limit":1}]`, `[{"$sort":{"a":1}},` + fixed + `,{"$limit":1}]`},
		{
			`[{"$group":{"_id":"$a","v":{"$addToSet":"$b"}}}]`,
			`[{"$group":{"_id":"$a","v":{"$addToSet":"$b"}}},{"$set":{"v":{"$sortArray":{"input":"$v","sortBy":1}}}}]`,
		},
		{
			`[{"$setWindowFields":{"sortBy":{"a":1},"output":{"v":{"$sum":1}}}}]`,
			`[{"$setWindowFields":{"sortBy":{"a":1,"_id":1},"output":{"v":{"$sum":1}}}}]`,
		},
		{
			`[{"$setWindowFields":{"sortBy":{"_id":1},"output":{}}}]`,
			`[{"$setWindowFields":{"sortBy":{"_id":1},"output":{}}}]`,
		},
		{`[{"$facet":{"x":[{"$limit":1}]}}]`, `[{"$facet":{"x":[{"$limit":1},` + fixed + `]}}]`},
	}
	for _, c := range cases {
		for _, r := range rephrasingTable {
			if r.Name != "order that a stage leaves open" {
				continue
			}
			got, changed := r.words(parse(c.in))
			if show(got) != show(parse(c.want)) || changed != (c.in != c.want) {
				t.Errorf("%s: %s, changed %v", c.in, show(got), changed)
			}
		}
	}
}

func TestSettledOutput(t *testing.T) {
	sort, merge := op("$sort", bson.D{{"a", int32(1)}}), op("$merge", "o")
	for _, c := range []struct{ in, want bson.A }{
		{bson.A{sort, merge}, slices.Concat(bson.A{sort}, fixedOrder, bson.A{merge})},
		{bson.A{op("$match", bson.D{}), merge}, nil},
		{bson.A{sort, op("$limit", int32(1))}, nil},
	} {
		got, changed := settledOutput(aggregateCommand(c.in))
		if changed != (c.want != nil) || changed && show(got) != show(aggregateCommand(c.want)) {
			t.Errorf("%s: %s", show(aggregateCommand(c.in)), show(got))
		}
	}
}

func TestSameMade(t *testing.T) {
	row := func(pairs ...any) bson.D { return fields(pairs...) }
	cases := []struct {
		a, b bson.D
		same bool
	}{
		{row("n", int32(3)), row("n", int64(3)), true},
		{row("n", int32(3)), row("n", int32(4)), false},
		{row("_id", int32(1), "n", int32(3)), row("_id", int32(1), "n", int64(3)), false},
	}
	for _, c := range cases {
		if got := sameMade(c.a, c.b); got != c.same {
			t.Errorf("%s and %s: %v", show(c.a), show(c.b), got)
		}
	}
}

func TestMergedLater(t *testing.T) {
	stages := bson.A{op("$bucketAuto",
		fields("groupBy", "$q", "output", bson.D{{"v", op("$mergeObjects", "$o")}, {"n", op("$sum", "$q")}}))}
	want := bson.A{
		op("$bucketAuto", fields("groupBy", "$q", "output", bson.D{{"v", op("$push", "$o")}, {"n", op("$sum", "$q")}})),
		op("$set", bson.D{{"v", op("$mergeObjects", "$v")}}),
	}
	if got := mergedLater(stages); show(op("v", got)) != show(op("v", want)) {
		t.Errorf("%s", show(op("v", got)))
	}
	others := bson.A{op("$match", bson.D{}), op("$group", bson.D{{"v", op("$mergeObjects", "$o")}})}
	if got := mergedLater(others); show(op("v", got)) != show(op("v", others)) {
		t.Errorf("%s", show(op("v", got)))
	}
}

func TestFiniteCovariances(t *testing.T) {
	window := func(pair any) bson.A {
		return bson.A{op("$setWindowFields",
			fields("output", bson.D{{
				"v",
				fields("$covariancePop", pair, "window", bson.D{}),
			}, {"n", op("$sum", "$q")}}))}
	}
	finite := func(v any) bson.D {
		return cond(op("$in", bson.A{v, bson.A{math.NaN(), math.Inf(1), math.Inf(-1)}}), nil, v)
	}
	for _, c := range []struct{ in, want bson.A }{
		{window(bson.A{"$a", "$b"}), window(bson.A{finite("$a"), finite("$b")})},
		{window("$a"), window("$a")},
		{bson.A{op("$group", bson.D{})}, bson.A{op("$group", bson.D{})}},
	} {
		if got := finiteCovariances(c.in); show(op("v", got)) != show(op("v", c.want)) {
			t.Errorf("%s: %s", show(op("v", c.in)), show(op("v", got)))
		}
	}
}

func TestNearHalf(t *testing.T) {
	for _, c := range []struct {
		a, b any
		near bool
	}{
		{fields("v", 1.0), fields("v", 0.75), true},
		{bson.A{1.0}, bson.A{decimal("1.5")}, true},
		{1.0, 1.6, false},
		{1.0, math.Inf(1), false},
		{"a", "b", false},
		{fields("v", 1.0), fields("w", 1.0), false},
	} {
		if got := nearHalf(c.a, c.b); got != c.near {
			t.Errorf("%v and %v: %v", c.a, c.b, got)
		}
	}
}

func TestJoinedFirst(t *testing.T) {
	match := op("$match", bson.D{{"t.n", int32(1)}})
	below, beside := op("$lookup", fields("from", "a", "as", "t.v")), op("$lookup", fields("from", "a", "as", "t"))
	for _, c := range []struct{ in, want bson.A }{
		{bson.A{below, match}, bson.A{below, op("$limit", int64(1)<<40), match}},
		{bson.A{beside, match}, bson.A{beside, match}},
		{bson.A{match, below}, bson.A{match, below}},
	} {
		if got := joinedFirst(c.in); show(op("v", got)) != show(op("v", c.want)) {
			t.Errorf("%s", show(op("v", got)))
		}
	}
}

func TestIndexes(t *testing.T) {
	for text, want := range map[string]bool{
		`{"createIndexes":"c","indexes":[{"key":{"a.1":1,"a":1},"name":"a"}]}`: true,
		`{"createIndexes":"c","indexes":[{"key":{"a":1},"name":"a.1"}]}`:       false,
		`{"insert":"c","documents":[{"key":{"a.1":1}}]}`:                       false,
	} {
		cmd, err := parseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if indexes("a.1")(cmd) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}
