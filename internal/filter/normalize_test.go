package filter

import (
	"bufio"
	"os"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

// The file testdata/recorded/parsedquery.jsonl contains queries x and the parsedQuery that
// MongoDB's explain showed.
func TestParsedQueryRecorded(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/recorded/parsedquery.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		c, err := bsonxtest.TryParse(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		got := Serialize(mustParse(t, c.Lookup("x").Doc()).Normalize().Root)
		if want := c.Lookup("parsed").Doc(); bsonx.CompareDocs(got, want) != 0 {
			t.Errorf("%s:\n got %s\nwant %s", toJSON(c.Lookup("x").Doc()), toJSON(got), toJSON(want))
		}
	}
}

// TestNormalizeOfCanonical checks that a canonical filter is its own normal form, so that
// normalising it again costs nothing. Normalising must not change the original filter.
func TestNormalizeOfCanonical(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		filter    string
		canonical bool
	}{
		{`{"a": 1}`, true},
		{`{}`, true},
		{`{"a": 1, "b": 2}`, true},
		{`{"b": 1, "a": 2}`, false},
		{`{"a": 1, "$and": [{"b": 2}]}`, false},
		{`{"a": 1, "$and": [{"b": 2}, {"c": 3}]}`, false},
		{`{"a": 1, "$and": [{"a": 1}]}`, false},
		{`{"a": {"$lt": 2, "$gt": 1}}`, true},
		{`{"a": {"$gte": 1, "$lt": 2}}`, false},
		{`{"a": {"$in": [1, 2]}}`, true},
		{`{"a": {"$in": [1]}}`, false},
		{`{"a": {"$ne": 1}}`, true},
		{`{"a": {"$not": {"$in": [1]}}}`, false},
		{`{"$or": [{"a": 1}, {"b": 1}]}`, true},
		{`{"$or": [{"b": 1}, {"a": 1}]}`, false},
		{`{"$or": [{"a": 1}, {"a": 2}]}`, false},
		{`{"$or": [{"a": 1}, {"a": {"$regex": "x"}}]}`, false},
		{`{"$or": [{"a": 1, "b": 1}, {"c": 1, "d": 1}]}`, true},
		{`{"$nor": [{"a": 1}, {"b": 1}]}`, true},
		{`{"a": {"$elemMatch": {"x": 1, "y": 1}}}`, true},
		{`{"a": {"$elemMatch": {"y": 1, "x": 1}}}`, false},
		{`{"a": {"$elemMatch": {"$lt": 2, "$gt": 1}}}`, true},
		{`{"a": {"$elemMatch": {"$gt": 1, "$lt": 2}}}`, false},
	} {
		doc, err := bsonxtest.TryParse(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		f := mustParse(t, doc)
		before := Serialize(f.Root)
		n := f.Normalize()
		if (n == f) != c.canonical {
			t.Errorf("%s: canonical %v, want %v", c.filter, n == f, c.canonical)
		}
		if again := n.Normalize(); !Serialize(again.Root).Equal(Serialize(n.Root)) {
			t.Errorf("%s: normalised twice %s", c.filter, toJSON(Serialize(again.Root)))
		}
		if !Serialize(f.Root).Equal(before) {
			t.Errorf("%s was changed to %s", c.filter, toJSON(Serialize(f.Root)))
		}
	}
}
