package plan_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/projection"
)

// The metamorphic relation of the planner: with any indexes and any plan, a query has the same
// result as a scan of the collection.

var (
	scalars = []string{
		`null`, `0`, `1`, `2`, `3`, `2.5`, `"a"`, `"ab"`, `"b"`, `true`, `{"x": 1}`,
		`{"x": 2, "y": 1}`, `{}`, `{"x.y": 1}`,
		`{"$numberDouble": "NaN"}`, `{"$minKey": 1}`, `{"$maxKey": 1}`,
		`{"$date": {"$numberLong": "5"}}`, `{"$numberDecimal": "2"}`,
	}
	paths = []string{"a", "b", "c", "a.x", "a.y", "o.p", "o.q", "_id", "a.0"}
	keys  = []string{
		`{"a": 1}`, `{"b": -1}`, `{"a": 1, "b": 1}`, `{"b": 1, "a": -1}`, `{"a.x": 1}`, `{"a.x": 1, "a.y": 1}`,
		`{"o.p": 1, "a": 1}`, `{"c": 1, "a": 1, "b": -1}`, `{"o": 1}`, `{"a.0": 1}`, `{"a.x": -1, "a.y": 1, "c": 1}`,
		`{"c": 1, "a.y": 1, "a.x": -1}`, `{"a.y": -1, "b": 1}`, `{"b": 1, "_id": -1}`,
		`{"o.q": 1, "o.p": -1}`,
	}
	// kindKeys are the keys of hashed and wildcard indexes. Hashed fields, which do not accept
	// arrays, never have arrays in the documents.
	kindKeys = []string{
		`{"c": "hashed"}`, `{"o.p": "hashed", "c": 1}`, `{"o.p": 1, "c": "hashed", "o.q": -1}`,
		`{"$**": 1}`, `{"$**": -1}`, `{"a.$**": 1}`, `{"o.$**": -1}`, `{"c": 1, "a.$**": 1}`, `{"o.$**": 1, "c": -1}`,
		`{"c": -1, "o.$**": -1, "_id": 1}`,
	}
	// projections are wildcardProjection options of wildcard indexes.
	projections = []string{
		`{"c": 0}`, `{"a.x": 0, "b": 0}`, `{"a": 1, "o.p": 1}`,
		`{"_id": 1, "b": 1, "a.x": 1}`, `{"_id": 1, "a.y": 0}`,
	}
	partials = []string{
		`{"b": {"$gte": 1}}`, `{"a": {"$exists": true}}`,
		`{"c": {"$in": [1, 2]}}`, `{"b": {"$type": "number"}}`,
	}
)

func pick(t *rapid.T, label string, from []string) string {
	return rapid.SampledFrom(from).Draw(t, label)
}

func genScalar(t *rapid.T) string { return pick(t, "scalar", scalars) }

func genValue(t *rapid.T, depth int) string {
	switch n := rapid.IntRange(0, 9).Draw(t, "kind"); {
	case n < 6 || depth == 0:
		return genScalar(t)
	case n < 8:
		var parts []string
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			parts = append(parts, genValue(t, depth-1))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		var parts []string
		for _, name := range []string{"x", "y", "p", "q"} {
			if rapid.Bool().Draw(t, "has") {
				parts = append(parts, fmt.Sprintf("%q: %s", name, genValue(t, depth-1)))
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
}

// genDoc returns a document. Its field a may be an array. If calm is true, its field o is never an
// array, so that both multikey and other indexes occur.
func genDoc(t *rapid.T, id int, calm bool) string {
	parts := []string{fmt.Sprintf(`"_id": %d`, id)}
	for _, name := range []string{"a", "b", "c", "o"} {
		if rapid.IntRange(0, 5).Draw(t, "absent") == 0 {
			continue
		}
		v := ""
		switch {
		case name == "a" && !calm:
			v = genValue(t, 2)
		case name == "o":
			v = fmt.Sprintf(`{"p": %s, "q": %s}`, genScalar(t), genScalar(t))
		case name == "b" && !calm && rapid.IntRange(0, 7).Draw(t, "array") == 0:
			v = "[" + genScalar(t) + ", " + genScalar(t) + "]"
		default:
			v = genScalar(t)
		}
		parts = append(parts, fmt.Sprintf("%q: %s", name, v))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func genOperator(t *rapid.T, depth int) string {
	switch rapid.IntRange(0, 15).Draw(t, "operator") {
	case 0, 1:
		return fmt.Sprintf(`{"$eq": %s}`, genValue(t, 1))
	case 2:
		return fmt.Sprintf(`{"$gt": %s}`, genValue(t, 1))
	case 3:
		return fmt.Sprintf(`{"$gte": %s}`, genValue(t, 1))
	case 4:
		return fmt.Sprintf(`{"$lt": %s}`, genValue(t, 1))
	case 5:
		return fmt.Sprintf(`{"$gte": %s, "$lt": %s}`, genScalar(t), genScalar(t))
	case 6, 7:
		return fmt.Sprintf(`{"$in": [%s, %s]}`, genValue(t, 1), genScalar(t))
	case 8:
		return fmt.Sprintf(`{"$ne": %s}`, genValue(t, 1))
	case 9:
		return fmt.Sprintf(`{"$nin": [%s, %s]}`, genScalar(t), genScalar(t))
	case 10:
		return fmt.Sprintf(`{"$exists": %v}`, rapid.Bool().Draw(t, "exists"))
	case 11:
		return fmt.Sprintf(`{"$type": %s}`,
			pick(t, "type", []string{
				`"number"`, `"string"`, `"null"`, `"array"`, `"object"`,
				`["bool", "int"]`, `"double"`,
			}))
	case 12:
		return pick(t, "regex",
			[]string{
				`{"$regex": "^a"}`, `{"$regex": "b$"}`, `{"$regex": "^ab", "$options": "i"}`,
				`{"$mod": [2, 0]}`, `{"$size": 2}`,
			})
	case 13:
		if depth > 0 {
			return fmt.Sprintf(`{"$not": %s}`, genOperator(t, 0))
		}
		return fmt.Sprintf(`{"$lte": %s}`, genScalar(t))
	case 14:
		return fmt.Sprintf(`{"$elemMatch": {"$gte": %s, "$lt": %s}}`, genScalar(t), genScalar(t))
	default:
		return fmt.Sprintf(`{"$elemMatch": {"x": %s, "y": %s}}`, genOperator(t, 0), genOperator(t, 0))
	}
}

func genFilter(t *rapid.T, depth int) string {
	if depth > 0 {
		switch rapid.IntRange(0, 5).Draw(t, "logical") {
		case 0:
			return fmt.Sprintf(`{"$or": [%s, %s]}`, genFilter(t, depth-1), genFilter(t, depth-1))
		case 1, 2:
			return fmt.Sprintf(`{"$and": [%s, %s]}`, genFilter(t, depth-1), genFilter(t, depth-1))
		case 3:
			return fmt.Sprintf(`{"$nor": [%s]}`, genFilter(t, 0))
		}
	}
	if rapid.IntRange(0, 9).Draw(t, "empty") == 0 {
		return `{}`
	}
	return fmt.Sprintf(`{%q: %s}`, pick(t, "path", paths), genOperator(t, depth))
}

func genSort(t *rapid.T) string {
	var parts []string
	used := map[string]bool{}
	for range rapid.IntRange(0, 3).Draw(t, "sort fields") {
		p := pick(t, "sort", []string{"a", "b", "c", "o.p", "o.q", "_id", "a.x", "a.y"})
		if !used[p] {
			parts = append(parts, fmt.Sprintf("%q: %d", p, rapid.SampledFrom([]int{1, -1}).Draw(t, "direction")))
		}
		used[p] = true
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// runScan returns the matching documents, ordered by the sort and then by insertion.
func runScan(t *rapid.T, docs []bsonx.Doc, f *filter.Filter, sort bsonx.Doc) ([]bsonx.Doc, bool) {
	var out []bsonx.Doc
	for _, d := range docs {
		ok, err := f.Match(d)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			out = append(out, d)
		}
	}
	keys := map[string][]byte{}
	for _, d := range out {
		k, err := sortKey(sort, d)
		if err != nil {
			return nil, false
		}
		keys[string(d)] = k
	}
	slices.SortStableFunc(out, func(a, b bsonx.Doc) int { return bytes.Compare(keys[string(a)], keys[string(b)]) })
	return out, true
}

func sortKey(sort, d bsonx.Doc) ([]byte, error) {
	var p index.Pattern
	for it := sort.Iter(); it.Next(); {
		n, _ := it.Value().AsInt64()
		p = append(p, index.Field{Path: string(it.Key()), Desc: n < 0})
	}
	if len(p) == 0 {
		return nil, nil
	}
	return index.NewSortKeyGen(p, nil).Append(nil, d)
}

func TestPlansAgreeWithScan(t *testing.T) {
	t.Parallel()
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		f := newFixture(&quiet{outer, t})
		defer f.store.Close()
		calm := rapid.Bool().Draw(t, "calm")
		var docs []bsonx.Doc
		for i := range rapid.IntRange(1, 30).Draw(t, "documents") {
			docs = append(docs, bsonxtest.MustParse(genDoc(t, i, calm)))
		}
		docs = f.insertValid(docs, genIndexes(t, f))
		for range 12 {
			f.compare(t, docs)
		}
	})
}

// quiet is a testing.TB for fixtures within a rapid check. It ignores cleanups: the check does
// them.
type quiet struct {
	testing.TB
	rapid *rapid.T
}

func (q *quiet) Helper()                           {}
func (q *quiet) Cleanup(func())                    {}
func (q *quiet) Fatal(args ...any)                 { q.rapid.Fatal(args...) }
func (q *quiet) Fatalf(format string, args ...any) { q.rapid.Fatalf(format, args...) }

func genIndexes(t *rapid.T, f *fixture) int {
	n := rapid.IntRange(1, 4).Draw(t, "indexes")
	for i := range n {
		var options []any
		switch rapid.IntRange(0, 4).Draw(t, "option") {
		case 0:
			options = []any{"sparse", true}
		case 1:
			options = []any{"partialFilterExpression", bsonxtest.MustParse(pick(t, "partial", partials))}
		}
		from := keys
		if rapid.IntRange(0, 3).Draw(t, "kind of index") == 0 {
			from = kindKeys
		}
		key := pick(t, "key", from)
		if strings.HasPrefix(key, `{"$**"`) && rapid.Bool().Draw(t, "projected") {
			options = append(options, "wildcardProjection",
				bsonxtest.MustParse(pick(t, "wildcardProjection", projections)))
		}
		f.index(fmt.Sprintf("i%d", i), bsonxtest.MustParse(key), options...)
	}
	return n
}

func (f *fixture) compare(t *rapid.T, docs []bsonx.Doc) {
	f.compareQuery(t, docs, genFilter(t, 2), genSort(t))
}

func (f *fixture) compareQuery(t *rapid.T, docs []bsonx.Doc, filterText, sortText string) {
	q := f.query(filterText, sortText)
	want, ok := runScan(t, docs, q.Filter, q.Sort)
	if !ok {
		return // the sort keys are parallel arrays
	}
	if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
		q.Skip = int64(rapid.IntRange(0, 3).Draw(t, "skip"))
		q.Limit = int64(rapid.IntRange(1, 5).Draw(t, "limit"))
	}
	every := rapid.IntRange(0, 4).Draw(t, "save every")
	got, err := f.find(q, every)
	describe := func() string {
		e := f.explain(q, explain.Find, explain.QueryPlanner)
		return fmt.Sprintf("filter %s sort %s skip %d limit %d\nplan %s", filterText, sortText, q.Skip, q.Limit,
			text(e.QueryPlanner))
	}
	if err != nil {
		t.Fatalf("%s: %v", describe(), err)
	}
	total := len(want)
	if q.Skip > 0 || q.Limit > 0 {
		want = window(want, q.Skip, q.Limit)
	}
	if err := sameResult(got, want, q.Sort, docs, q.Filter, q.Limit > 0 || q.Skip > 0); err != nil {
		t.Fatalf("%s\n%v", describe(), err)
	}
	f.compareCovered(t, q, total, describe)
}

func window(docs []bsonx.Doc, skip, limit int64) []bsonx.Doc {
	docs = docs[min(int(skip), len(docs)):]
	if limit > 0 {
		docs = docs[:min(int(limit), len(docs))]
	}
	return docs
}

// sameResult compares results as sets, and compares their sort keys. Documents with equal sort keys
// may come in any order, and a result with skip or limit may have any of them.
func sameResult(got, want []bsonx.Doc, sort bsonx.Doc, docs []bsonx.Doc, f *filter.Filter, windowed bool) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d documents, want %d\ngot %s\nwant %s", len(got), len(want), texts(got), texts(want))
	}
	seen := map[string]bool{}
	for i := range got {
		if seen[string(got[i])] {
			return fmt.Errorf("twice: %s", text(got[i]))
		}
		seen[string(got[i])] = true
		if ok, _ := f.Match(got[i]); !ok || !slices.ContainsFunc(docs, got[i].Equal) {
			return fmt.Errorf("not a match: %s", text(got[i]))
		}
		g, _ := sortKey(sort, got[i])
		w, _ := sortKey(sort, want[i])
		if !bytes.Equal(g, w) {
			return fmt.Errorf("order differs at %d\ngot %s\nwant %s", i, texts(got), texts(want))
		}
	}
	if windowed {
		return nil
	}
	for _, d := range want {
		if !seen[string(d)] {
			return fmt.Errorf("missing: %s", text(d))
		}
	}
	return nil
}

func texts(docs []bsonx.Doc) string {
	var b strings.Builder
	for _, d := range docs {
		b.WriteString("\n  " + text(d))
	}
	return b.String()
}

// compareCovered compares projections, counts and distinct values with the ones computed from the
// matching documents.
func (f *fixture) compareCovered(t *rapid.T, q *query.Query, total int, describe func() string) {
	n, err := f.count(q)
	want := int64(total) - min(q.Skip, int64(total))
	if q.Limit > 0 {
		want = min(want, q.Limit)
	}
	if err != nil || n != want {
		t.Fatalf("%s\ncount %d, want %d (%v)", describe(), n, want, err)
	}
	if q.Limit > 0 || q.Skip > 0 {
		return
	}
	spec := pick(t, "projection",
		[]string{
			`{"_id": 0, "a": 1, "b": 1, "c": 1}`, `{"_id": 0, "a": 1}`, `{"_id": 0, "b": 1}`,
			`{"_id": 0, "a": 1, "b": 1}`, `{"_id": 0, "o.p": 1}`, `{"_id": 1}`, `{"_id": 0, "o": 1}`,
		})
	p, err := projection.Parse(bsonxtest.MustParse(spec), projection.Options{Vars: expressions.Scope()})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := f.find(q, 0)
	if err != nil {
		t.Fatal(err)
	}
	var projected []string
	for _, d := range whole {
		out, err := p.Apply(nil, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		projected = append(projected, canonicalText(out))
	}
	q.Projection, q.ProjectionSpec = p, bsonxtest.MustParse(spec)
	got, err := f.find(q, 0)
	if err != nil {
		t.Fatal(err)
	}
	var gotTexts []string
	for _, d := range got {
		gotTexts = append(gotTexts, canonicalText(d))
	}
	if q.Sort.IsEmpty() || len(q.Sort) > 0 {
		slices.Sort(projected)
		slices.Sort(gotTexts)
	}
	if !slices.Equal(projected, gotTexts) {
		t.Fatalf("%s\nprojection %s\ngot %v\nwant %v", describe(), spec, gotTexts, projected)
	}
	q.Projection, q.ProjectionSpec = nil, nil
	f.compareDistinct(t, q, whole, describe)
}

// canonicalText prints a document with sorted top-level fields, because index entries do not store
// the order of the document's fields.
func canonicalText(d bsonx.Doc) string {
	var parts []string
	for it := d.Iter(); it.Next(); {
		parts = append(parts, text(bsonx.NewDoc(string(it.Key()), it.Value())))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

func (f *fixture) compareDistinct(t *rapid.T, q *query.Query, whole []bsonx.Doc, describe func() string) {
	field := pick(t, "distinct", []string{"a", "b", "c", "o.p", "a.x", "o"})
	var want []bsonx.Value
	for _, d := range whole {
		filter.NewPath(field).Walk(d, filter.ElementsOnly, func(v bsonx.Value) bool {
			same := func(w bsonx.Value) bool { return bsonx.CompareValues(v, w) == 0 }
			if !v.IsMissing() && !slices.ContainsFunc(want, same) {
				want = append(want, v)
			}
			return false
		})
	}
	slices.SortStableFunc(want, bsonx.CompareValues)
	got, err := f.distinct(q, field)
	if err != nil {
		t.Fatal(err)
	}
	if bsonx.CompareValues(got, bsonx.ValueOf(want)) != 0 {
		t.Fatalf("%s\ndistinct %s: %s, want %s", describe(), field, bsonx.FormatShell(got),
			bsonx.FormatShell(bsonx.ValueOf(want)))
	}
}
