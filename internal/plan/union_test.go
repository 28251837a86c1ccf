package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

var (
	// unionKeys has indexes that the branches of an $or share, and indexes for one branch each.
	unionKeys = []string{
		`{"a": 1}`, `{"a": -1}`, `{"b": 1}`, `{"c": -1}`, `{"a": 1, "b": -1, "c": 1}`,
		`{"b": 1, "c": 1}`, `{"c": -1, "b": 1, "a": 1}`,
		`{"a": "hashed"}`, `{"a": "hashed", "b": 1}`, `{"b": 1, "a": "hashed"}`, `{"$**": 1}`, `{"a": 1, "c": 1}`,
	}
	// unionValues has few values, so that sorts have ties, and values that an index entry cannot
	// distinguish.
	unionValues = []string{`0`, `1`, `2`, `3`, `1`, `2`, `2.0`, `null`, `"a"`, `{"$numberLong": "1"}`}
)

// TestUnionsAgreeWithScan compares unions, merges and sorts of index entries with a scan.
func TestUnionsAgreeWithScan(t *testing.T) {
	t.Parallel()
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		f := newFixture(&quiet{outer, t})
		defer f.store.Close()
		var docs []bsonx.Doc
		arrays := rapid.IntRange(0, 3).Draw(t, "arrays") == 0
		for i := range rapid.IntRange(5, 40).Draw(t, "documents") {
			docs = append(docs, bsonxtest.MustParse(genFlatDoc(t, i, arrays)))
		}
		for i := range rapid.IntRange(1, 3).Draw(t, "indexes") {
			f.index(fmt.Sprintf("i%d", i), bsonxtest.MustParse(pick(t, "key", unionKeys)))
		}
		docs = f.insertValid(docs, 0)
		for range 12 {
			f.compareQuery(t, docs, genUnion(t), genFlatSort(t))
		}
	})
}

// TestMergeOfHashedFields sorts by a field that the index stores as a hash. The merge must compare
// the documents.
func TestMergeOfHashedFields(t *testing.T) {
	t.Parallel()
	for _, key := range []string{`{"a": "hashed"}`, `{"a": "hashed", "b": 1}`} {
		f := newFixture(t)
		f.index("i", bsonxtest.MustParse(key))
		f.insert(bsonxtest.MustParse(`{"_id": 1, "a": 1, "b": 2}`), bsonxtest.MustParse(`{"_id": 2, "a": 2, "b": 3}`))
		for sort, first := range map[string]int64{
			`{"a": 1}`: 1, `{"a": -1}`: 2, `{"a": 1, "b": -1}`: 1, `{"a": -1, "b": 1}`: 2,
		} {
			docs, err := f.find(f.query(`{"$or": [{"a": 1, "b": 2}, {"a": 2, "b": 3}]}`, sort), 0)
			if err != nil || len(docs) != 2 {
				t.Fatalf("%s sorted by %s: %s, %v", key, sort, texts(docs), err)
			}
			if id, _ := docs[0].Lookup("_id").AsInt64(); id != first {
				t.Errorf("%s sorted by %s: %s", key, sort, texts(docs))
			}
		}
	}
}

func genFlatDoc(t *rapid.T, id int, arrays bool) string {
	parts := []string{fmt.Sprintf(`"_id": %d`, id)}
	for _, name := range []string{"a", "b", "c"} {
		switch v := pick(t, "value", unionValues); rapid.IntRange(0, 19).Draw(t, "form") {
		case 0: // missing
		case 1:
			if arrays {
				v = "[" + v + ", " + pick(t, "value", unionValues) + "]"
			}
			fallthrough
		default:
			parts = append(parts, fmt.Sprintf("%q: %s", name, v))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// genUnion returns an $or of conjunctions. In half of the cases another predicate is combined
// with the $or.
func genUnion(t *rapid.T) string {
	var branches []string
	for range rapid.IntRange(1, 3).Draw(t, "branches") {
		var parts []string
		for _, name := range []string{"a", "b", "c"} {
			if rapid.IntRange(0, 2).Draw(t, "has") == 0 {
				parts = append(parts, fmt.Sprintf("%q: %s", name, genFlatOperator(t)))
			}
		}
		if len(parts) == 0 {
			parts = append(parts, fmt.Sprintf(`"a": %s`, genFlatOperator(t)))
		}
		branches = append(branches, "{"+strings.Join(parts, ", ")+"}")
	}
	beside := ""
	if rapid.Bool().Draw(t, "beside") {
		beside = fmt.Sprintf(", %q: %s", pick(t, "path", []string{"a", "b", "c"}), genFlatOperator(t))
	}
	return `{"$or": [` + strings.Join(branches, ", ") + "]" + beside + "}"
}

func genFlatOperator(t *rapid.T) string {
	v := pick(t, "value", unionValues)
	switch rapid.IntRange(0, 11).Draw(t, "operator") {
	case 0:
		return fmt.Sprintf(`{"$gt": %s}`, v)
	case 1:
		return fmt.Sprintf(`{"$lte": %s}`, v)
	case 2:
		return fmt.Sprintf(`{"$in": [%s, %s]}`, v, pick(t, "value", unionValues))
	case 3:
		return fmt.Sprintf(`{"$ne": %s}`, v)
	case 4:
		return `{"$mod": [2, 0]}`
	case 5:
		return pick(t, "type", []string{
			`{"$type": "int"}`, `{"$type": "number"}`,
			`{"$exists": true}`, `{"$regex": "a"}`,
		})
	default:
		return v
	}
}

func genFlatSort(t *rapid.T) string {
	var parts []string
	for _, p := range rapid.Permutation([]string{"a", "b", "c"}).
		Draw(t, "sort")[:rapid.IntRange(0, 3).Draw(t, "fields")] {
		parts = append(parts, fmt.Sprintf("%q: %d", p, rapid.SampledFrom([]int{1, -1}).Draw(t, "direction")))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
