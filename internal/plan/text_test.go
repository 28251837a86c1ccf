package plan_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/projection"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/torture"
)

// The metamorphic relation of text searches: with any fields in the index, a search finds the
// documents that match it one by one, with the scores that they have one by one, in the order of
// the sort.

var (
	textWords = []string{
		"tea", "Teas", "coffee", "shop", "shopping", "Café", "cafe", "the", "los", "gato", "gatos",
		"x-ray", "\"tea", "shop\"", "lazy dog",
	}
	textSpecs = []struct{ key, options string }{
		{`{"_fts": "text", "_ftsx": 1}`, `"weights": {"s": 1}`},
		{`{"_fts": "text", "_ftsx": 1}`, `"weights": {"s": 3, "u.v": 2, "t": 10}`},
		{`{"_fts": "text", "_ftsx": 1}`, `"weights": {"$**": 1, "t": 4}, "default_language": "none"`},
		{`{"k": 1, "_fts": "text", "_ftsx": 1, "n": -1}`, `"weights": {"s": 1, "t": 2}`},
		{`{"_fts": "text", "_ftsx": 1, "n": 1, "k": -1}`, `"weights": {"s": 1}, "default_language": "spanish", "language_override": "l"`},
		{`{"_fts": "text", "_ftsx": 1}`, `"weights": {"s": 1, "u.v": 1}, "partialFilterExpression": {"k": 1}`},
	}
)

func genText(t *rapid.T) string {
	var parts []string
	for range rapid.IntRange(0, 6).Draw(t, "words") {
		parts = append(parts, pick(t, "word", textWords))
	}
	return strings.Join(parts, " ")
}

func genTextDoc(t *rapid.T, id int) string {
	parts := []string{fmt.Sprintf(`"_id": %d`, id)}
	add := func(name, value string) {
		if rapid.IntRange(0, 3).Draw(t, "absent") > 0 {
			parts = append(parts, fmt.Sprintf("%q: %s", name, value))
		}
	}
	add("s", fmt.Sprintf("%q", genText(t)))
	add("t", fmt.Sprintf("[%q, 5, %q]", genText(t), genText(t)))
	add("u", fmt.Sprintf(`[{"v": %q, "language": %q}, {"v": [%q]}, %q]`, genText(t),
		pick(t, "language", []string{"es", "none", "english"}), genText(t), genText(t)))
	add("k", pick(t, "k", []string{"1", "2", "null", "1.0"}))
	add("n", pick(t, "n", []string{"1", "2", "3", `"x"`, "null", `{"a": 1}`}))
	return "{" + strings.Join(parts, ", ") + "}"
}

func genSearch(t *rapid.T) string {
	var parts []string
	for range rapid.IntRange(1, 4).Draw(t, "terms") {
		w := pick(t, "term", textWords)
		switch rapid.IntRange(0, 5).Draw(t, "form") {
		case 0:
			w = "-" + w
		case 1:
			w = `"` + strings.Trim(w, `"`) + `"`
		}
		parts = append(parts, w)
	}
	options := pick(t, "options",
		[]string{"", "", `, "$caseSensitive": true`, `, "$diacriticSensitive": true`, `, "$language": "es"`})
	return fmt.Sprintf(`{"$text": {"$search": %q%s}}`, strings.Join(parts, " "), options)
}

func genTextFilter(t *rapid.T) string {
	conjuncts := []string{genSearch(t)}
	switch rapid.IntRange(0, 5).Draw(t, "beside") {
	case 0:
		conjuncts = append(conjuncts, `{"k": 1}`)
	case 1:
		conjuncts = append(conjuncts, `{"k": 1}`, fmt.Sprintf(`{"n": %s}`, genOperator(t, 0)))
	case 2:
		conjuncts = append(conjuncts, fmt.Sprintf(`{"n": %s}`, genOperator(t, 0)))
	case 3:
		conjuncts = []string{fmt.Sprintf(`{"$or": [{"$and": [%s, {"k": 1}]}, {"_id": 3}]}`, conjuncts[0])}
	case 4:
		conjuncts = append(conjuncts, `{"$expr": {"$gt": ["$_id", 4]}}`)
	}
	return `{"$and": [` + strings.Join(conjuncts, ", ") + `]}`
}

func TestTextAgreesWithDocuments(t *testing.T) {
	t.Parallel()
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		f := newFixture(&quiet{outer, t})
		defer f.store.Close()
		spec := rapid.SampledFrom(textSpecs).Draw(t, "spec")
		first := rapid.Bool().Draw(t, "index first")
		index := func() {
			o := bsonxtest.MustParse("{" + spec.options + "}")
			var options []any
			for it := o.Iter(); it.Next(); {
				options = append(options, string(it.Key()), it.Value())
			}
			f.index("t", bsonxtest.MustParse(spec.key), options...)
		}
		if first {
			index()
		}
		var docs []bsonx.Doc
		for i := range rapid.IntRange(1, 20).Draw(t, "documents") {
			docs = append(docs, bsonxtest.MustParse(genTextDoc(t, i)))
			f.insert(docs[i])
		}
		if !first {
			index()
		}
		docs = f.rewrite(t, docs)
		for range 8 {
			f.compareText(t, docs)
		}
		v, err := f.store.Validate(context.Background(), f.store.Current(f.coll), true)
		if err != nil || len(v.Errors) > 0 {
			t.Fatalf("%v %v", v, err)
		}
	})
}

// rewrite changes and removes some documents.
func (f *fixture) rewrite(t *rapid.T, docs []bsonx.Doc) []bsonx.Doc {
	var out []bsonx.Doc
	for i, d := range docs {
		what := rapid.IntRange(0, 3).Draw(t, "rewrite")
		if what > 1 {
			out = append(out, d)
			continue
		}
		w, err := f.store.BeginWrite(f.store.Current(f.coll))
		if err != nil {
			t.Fatal(err)
		}
		key := f.coll.RecordKey(nil, d.Lookup("_id"))
		old, err := w.Lock(context.Background(), key, nil)
		if err != nil {
			t.Fatal(err)
		}
		if what == 0 {
			err = w.Delete(key, old)
		} else {
			changed := bsonxtest.MustParse(genTextDoc(t, i))
			out = append(out, changed)
			err = w.Update(context.Background(), key, old, changed, table.Replacement)
		}
		if err == nil {
			err = w.Commit(storage.Buffered)
		}
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// scored is a document with its score; NaN means that it has no score.
type scored struct {
	id    int64
	score float64
}

func (f *fixture) compareText(t *rapid.T, docs []bsonx.Doc) {
	filterText := genTextFilter(t)
	sortText := pick(t, "sort",
		[]string{
			``, `{"z": {"$meta": "textScore"}, "_id": 1}`,
			`{"k": 1, "z": {"$meta": "textScore"}, "_id": -1}`, `{"_id": -1}`,
		})
	q := f.query(filterText, sortText)
	var err error
	if q.Projection, err = projection.Parse(bsonxtest.MustParse(`{"z": {"$meta": "textScore"}}`),
		projection.Options{Vars: expressions.Scope()}); err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "unscored") && !strings.Contains(sortText, "$meta") {
		q.Projection = nil
	}
	if sortText != "" && rapid.Bool().Draw(t, "limited") {
		q.Limit, q.Skip = int64(rapid.IntRange(1, 4).Draw(t, "limit")), int64(rapid.IntRange(0, 2).Draw(t, "skip"))
	}
	got, err := f.find(q, rapid.IntRange(0, 3).Draw(t, "save every"))
	if err != nil {
		if strings.Contains(err.Error(), "failed to use text index") ||
			strings.Contains(err.Error(), "Failed to produce a solution for TEXT under OR") {
			return
		}
		t.Fatalf("%s: %v", filterText, err)
	}
	want := f.textScan(t, q, docs)
	var found []scored
	for _, d := range got {
		id, _ := d.Lookup("_id").AsInt64()
		s := scored{id, math.NaN()}
		if z := d.Lookup("z"); !z.IsMissing() {
			s.score = z.Double()
		}
		found = append(found, s)
	}
	if sortText == "" {
		byID := func(a, b scored) int { return int(a.id - b.id) }
		slices.SortFunc(found, byID)
		slices.SortFunc(want, byID)
	}
	same := func(a, b scored) bool {
		// Sums in another order differ in their last digits, so the order of documents with nearly
		// equal scores is not defined.
		if a.id != b.id && sortText != "" && math.Abs(a.score-b.score) < 1e-9 {
			return true
		}
		return a.id == b.id && (q.Projection == nil || math.Abs(a.score-b.score) < 1e-9 ||
			math.IsNaN(a.score) && math.IsNaN(b.score))
	}
	if !slices.EqualFunc(found, want, same) {
		e := f.explain(q, explain.Find, explain.QueryPlanner)
		t.Fatalf("filter %s sort %s skip %d limit %d\ngot  %v\nwant %v\nplan %s\ndocs %s", filterText, sortText, q.Skip, q.Limit, found, want, text(e.QueryPlanner), texts(docs))
	}
	if q.Limit == 0 {
		if n, err := f.count(q); err != nil || int(n) != len(want) {
			t.Fatalf("filter %s: count %d, want %d (%v)", filterText, n, len(want), err)
		}
	}
}

// textScan evaluates a search, which was planned before, on the documents one by one.
func (f *fixture) textScan(t *rapid.T, q *query.Query, docs []bsonx.Doc) []scored {
	type row struct {
		scored
		doc bsonx.Doc
	}
	search := q.Filter.Text()
	var rows []row
	for _, d := range docs {
		ok, err := q.Filter.Match(d)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			continue
		}
		id, _ := d.Lookup("_id").AsInt64()
		score, has := search.Score(d)
		// The document may have been found by the other branch alone.
		if strings.Contains(string(q.Filter.Spec()), "$or") {
			byWords, _ := (&filter.Filter{Root: search}).Match(d)
			has = has && byWords && bsonx.CompareValues(d.Lookup("k"), bsonx.Int32(1)) == 0
		}
		if !has {
			score = math.NaN()
		}
		rows = append(rows, row{scored{id, score}, d})
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		for it := q.Sort.Iter(); it.Next(); {
			c := 0
			switch {
			case it.Value().Type != bsonx.TypeDocument:
				direction, _ := it.Value().AsInt64()
				c = int(direction) * bsonx.CompareValues(orNull(a.doc.Lookup(string(it.Key()))),
					orNull(b.doc.Lookup(string(it.Key()))))
			case math.IsNaN(a.score) || math.IsNaN(b.score):
				c = btoi(math.IsNaN(a.score)) - btoi(math.IsNaN(b.score))
			case math.Abs(a.score-b.score) > 1e-12:
				c = 1
				if a.score > b.score {
					c = -1
				}
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	var out []scored
	for _, r := range rows {
		out = append(out, r.scored)
	}
	if q.Limit > 0 {
		out = out[min(int(q.Skip), len(out)):]
		out = out[:min(int(q.Limit), len(out))]
	}
	return out
}

func orNull(v bsonx.Value) bsonx.Value {
	if v.IsMissing() {
		return bsonx.Null
	}
	return v
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestTextOrMemory checks that a search with too many documents fails before it takes more memory
// than a blocking sort may.
func TestTextOrMemory(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.planner = plan.New(plan.Options{SortMemory: 4 << 10})
	f.index("t", bsonxtest.MustParse(`{"_fts": "text", "_ftsx": 1}`), "weights", bsonxtest.MustParse(`{"s": 1}`))
	for i := range 200 {
		f.insert(bsonx.NewDoc("_id", i, "s", fmt.Sprintf("tea %d", i)))
	}
	q := f.query(`{"$text": {"$search": "tea"}}`, `{"z": {"$meta": "textScore"}}`)
	if _, err := f.find(q, 0); err == nil || !strings.Contains(err.Error(), "TEXT_OR exceeded memory limit") {
		t.Errorf("%v", err)
	}
	q = f.query(`{"$text": {"$search": "tea"}}`)
	if n, err := f.count(q); err != nil || n != 200 {
		t.Errorf("%d, %v", n, err)
	}
}

// TestRankedSearchStops checks that a sort by score with a limit reads no record after the limit.
func TestRankedSearchStops(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.index("t", bsonxtest.MustParse(`{"_fts": "text", "_ftsx": 1}`), "weights", bsonxtest.MustParse(`{"s": 1}`))
	for i := range 300 {
		f.insert(bsonx.NewDoc("_id", i, "s", "tea"+strings.Repeat(" pot", i)))
	}
	q := f.query(`{"$text": {"$search": "tea cup"}}`, `{"z": {"$meta": "textScore"}}`)
	q.Limit = 5
	r := exec.NewReader(f.store.Newest())
	defer func() { _ = r.Close() }()
	e, err := f.planner.Find(context.Background(), q, r)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	n := 0
	for row, err := e.Next(context.Background()); row != nil || err != nil; row, err = e.Next(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if _, docs := e.Examined(); n != 5 || docs > 6 {
		t.Errorf("%d rows of %d records", n, docs)
	}
}

// TestSearchOfNothing checks that a filter which can never be true is not refused for lacking an
// equality on the index prefix.
func TestSearchOfNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.index("t", bsonxtest.MustParse(`{"k": 1, "_fts": "text", "_ftsx": 1}`), "weights",
		bsonxtest.MustParse(`{"s": 1}`))
	f.insert(bsonxtest.MustParse(`{"_id": 1, "k": 1, "s": "tea"}`))
	for _, never := range []string{`{"$nor": [{}], "$text": {"$search": "tea"}}`, `{"k": 1, "$and": [{"$nor": [{}]}], "$text": {"$search": "tea"}}`} {
		if n, err := f.count(f.query(never)); err != nil || n != 0 {
			t.Errorf("%s: %d, %v", never, n, err)
		}
	}
}

// TestBestTexts checks that a search with a limit, which does not read all entries of its words,
// returns the first rows of the same search without a limit.
func TestBestTexts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.index("t", bsonxtest.MustParse(`{"_fts": "text", "_ftsx": 1, "n": -1}`), "weights",
		bsonxtest.MustParse(`{"s": 1, "t": 3}`))
	rng := rand.New(rand.NewPCG(3, 4))
	words := []string{"tea", "coffee", "milk", "rice", "salt", "pepper", "bread", "corn", "bean"}
	docs := make([]bsonx.Doc, 3000)
	for i := range docs {
		text := func(most int) string {
			var s strings.Builder
			for range rng.IntN(most) {
				s.WriteString(words[min(rng.IntN(len(words)), rng.IntN(len(words)))] + " ")
			}
			return s.String()
		}
		docs[i] = bsonx.NewDoc("_id", i, "s", text(40), "t", text(4), "n", i%7)
	}
	f.insert(docs...)
	stopped := 0
	for _, search := range torture.Some([]string{
		"tea", "bean", "tea bean", "salt pepper", "corn bean bread", "tea coffee milk rice", "tea cups",
		"bean -tea", `"salt rice" bean`, "-tea",
		"tea coffee milk rice salt pepper bread corn bean",
	}, 2) {
		for _, more := range []string{"", `, "n": 3`, `, "s": {"$regex": "^b"}`} {
			for _, sort := range []string{`{"z": {"$meta": "textScore"}}`, `{"z": {"$meta": "textScore"}, "_id": -1}`} {
				all, keys := bestTexts(t, f, search, more, sort, 0)
				for _, limit := range []int{1, 7, 50, 900} {
					got, read := bestTexts(t, f, search, more, sort, limit)
					if want := all[:min(limit, len(all))]; !slices.Equal(got, want) {
						t.Fatalf("%s%s by %s, the first %d: %v, want %v", search, more, sort, limit, got, want)
					}
					if read < keys {
						stopped++
					}
				}
			}
		}
	}
	if stopped < torture.Part(50) {
		t.Errorf("only %d searches stopped before the end", stopped)
	}
}

// bestTexts returns the _ids and scores of the first rows of a search, and the number of entries
// that it has read.
func bestTexts(t *testing.T, f *fixture, search, more, sort string, limit int) (out []string, keys uint64) {
	t.Helper()
	q := f.query(fmt.Sprintf(`{"$text": {"$search": %q}%s}`, search, more), sort)
	q.Limit = int64(limit)
	q.Scores = true
	r := exec.NewReader(f.store.Newest())
	defer func() { _ = r.Close() }()
	e, err := f.planner.Find(context.Background(), q, r)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for row, err := e.Next(context.Background()); row != nil || err != nil; row, err = e.Next(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(row.Doc.Lookup("_id"), row.Score))
	}
	keys, _ = e.Examined()
	return out, keys
}
