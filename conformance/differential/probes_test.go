package main

import (
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/bson"
)

func mustParse(t *testing.T, text string) bson.D {
	t.Helper()
	doc, err := parseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestQuestionOfView(t *testing.T) {
	for text, want := range map[string]string{
		`{"find":"v","filter":{"n":1}}`:                      `[{"$match":{"n":1}}]`,
		`{"find":"v","filter":{"n":1},"projection":{"a":1}}`: `[{"$match":{"n":1}},{"$project":{"a":1}}]`,
		`{"find":"c","filter":{"n":1}}`:                      "",
		`{"count":"v","query":{"n":1}}`:                      "",
	} {
		got, ok := questionOfView(mustParse(t, text))
		if ok != (want != "") {
			t.Errorf("%s: %v", text, ok)
		}
		if ok && show(op("v", lookup(got, "pipeline"))) != show(mustParse(t, `{"v":`+want+`}`)) {
			t.Errorf("%s: %s", text, show(got))
		}
	}
}

// TestUndroppedSort: undropped also leaves out a $sort that is followed by a stage that sorts, such
// as $fill.
func TestUndroppedSort(t *testing.T) {
	for _, c := range []struct {
		name string
		want bool
	}{{"$fill", true}, {"$setWindowFields", true}, {"$project", false}, {"$lookup", false}} {
		stages := bson.A{op("$sort", op("a", int32(1))), op(c.name, bson.D{})}
		if got := len(undropped(stages)) > 0; got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if between := (bson.A{
		op("$sort", bson.D{}), op("$project", bson.D{}),
		op("$fill", bson.D{}),
	}); len(undropped(between)) > 0 {
		t.Error("a stage between")
	}
}

func TestExtremes(t *testing.T) {
	buckets := mustParse(t, `{"aggregate":"c","pipeline":[{"$bucketAuto":{"output":{"v":{"$minN":{}},"w":{"$push":"$n"},"x":{"$max":"$n"}}}},{"$group":{"output":{"y":{"$min":1}}}}]}`)
	if got := extremesOfBuckets(buckets); !slices.Equal(got, []string{"v", "x"}) {
		t.Errorf("%v", got)
	}
	same := sameExtremes([]string{"v"})
	for _, c := range []struct {
		a, b any
		want bool
	}{
		{fields("v", bson.A{int32(1), int64(1)}), fields("v", bson.A{int64(1), int32(1)}), true},
		{fields("v", bson.A{int32(1)}), fields("v", bson.A{int32(2)}), false},
		{fields("w", int32(1)), fields("w", int64(1)), false},
		{int32(1), int64(1), false},
	} {
		if got := same(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: %v", c.a, c.b, got)
		}
	}
}
