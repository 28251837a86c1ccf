package pipeline_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/torture"
)

var (
	matrixRuns = flag.Int("pipeline.runs", 0, "random pipelines that TestRandomPipelines runs; 0 for the usual number")
	matrixSeed = flag.Uint64("pipeline.seed", 1, "seed of the first random pipeline")
)

// outcome is the result of a pipeline: its documents or an error.
type outcome struct {
	docs []bsonx.Doc
	err  error
}

func outcomeOf(stages bsonx.Value, docs []bsonx.Doc, disable parsing.Rule, env *source.Env) outcome {
	p, err := pipeline.Parse(stages, parsing.Options{Vars: expressions.Scope(), Disable: disable})
	if err != nil {
		return outcome{err: err}
	}
	src := p.Run(&borrowedSource{docs: docs}, env)
	defer src.Close()
	var out outcome
	out.err = source.Drain(context.Background(), src, func(d bsonx.Doc) error {
		out.docs = append(out.docs, d.Clone())
		if len(out.docs)%3 == 0 { // as a cursor does between two batches
			src.Save()
			return src.Restore(context.Background())
		}
		return nil
	})
	return out
}

// borrowedSource yields documents and overwrites each with garbage as soon as the contract of
// source.Source permits. A stage that keeps a document without copying it gives wrong results.
type borrowedSource struct {
	docs []bsonx.Doc
	buf  bsonx.Doc
	next int
}

func (s *borrowedSource) spoil() {
	for i := range s.buf {
		s.buf[i] = 0xEE
	}
}

func (s *borrowedSource) Next(context.Context) (bsonx.Doc, error) {
	s.spoil()
	if s.next == len(s.docs) {
		return nil, nil
	}
	s.next++
	s.buf = append(s.buf[:0], s.docs[s.next-1]...)
	return s.buf, nil
}

func (s *borrowedSource) Save()                         { s.spoil() }
func (s *borrowedSource) Restore(context.Context) error { s.spoil(); return nil }
func (s *borrowedSource) Close()                        { s.spoil() }

// checkMatrix runs a pipeline in several ways that must give the same results: without the
// optimiser, without each of its rules, with the leading stages split off for a planner, and with
// little memory. The optimiser may prevent an error but must not cause one.
func checkMatrix(t *testing.T, stages bsonx.Value, docs []bsonx.Doc) {
	t.Helper()
	want := outcomeOf(stages, docs, parsing.AllRules, nil)
	for _, rule := range append(parsing.Rules(), 0) {
		got := outcomeOf(stages, docs, rule, nil)
		switch {
		case got.err != nil && want.err == nil:
			t.Errorf("%s\nwith all rules but %q: %v", bsonx.FormatShell(stages), rule, got.err)
		case want.err == nil && !slices.EqualFunc(got.docs, want.docs, equalDocs):
			t.Errorf("%s\nwith all rules but %q:\n%s\nwithout any:\n%s", bsonx.FormatShell(stages), rule,
				show(t, got.docs), show(t, want.docs))
		}
	}
	small := outcomeOf(stages, docs, 0, &source.Env{MemoryLimit: 1500, AllowDiskUse: true, TempDir: t.TempDir()})
	if !readsGroupOrder(stages) && small.err == nil && want.err == nil &&
		!slices.EqualFunc(sorted(small.docs), sorted(want.docs), equalDocs) {
		t.Errorf("%s\nwith a small memory:\n%s\nwithout optimiser:\n%s", bsonx.FormatShell(stages),
			show(t, small.docs), show(t, want.docs))
	}
	checkNeeds(t, stages, docs, want)
}

// readsGroupOrder reports whether a stage depends on the order of groups. That order changes when a
// $group spills.
func readsGroupOrder(stages bsonx.Value) bool {
	grouped := false
	for _, s := range stages.Doc().Values() {
		if s.Type != bsonx.TypeDocument {
			return false // Parse rejects this stage
		}
		switch string(s.Doc().First().Key) {
		case "$group", "$sortByCount", "$bucketAuto", "$bucket", "$facet", "$setWindowFields":
			if grouped {
				return true
			}
			grouped = true
		case "$limit", "$skip", "$fill", "$densify":
			if grouped {
				return true
			}
		}
	}
	return false
}

// checkNeeds runs a pipeline over documents projected to the fields that Needs returns. The results
// must be the same as over the whole documents.
func checkNeeds(t *testing.T, stages bsonx.Value, docs []bsonx.Doc, want outcome) {
	t.Helper()
	p, err := pipeline.Parse(stages, parsing.Options{Vars: expressions.Scope()})
	if err != nil || want.err != nil {
		return
	}
	fields, _ := p.Needs()
	if fields == nil {
		return
	}
	less := make([]bsonx.Doc, len(docs))
	for i, d := range docs {
		if less[i], err = fields.Apply(nil, d, nil); err != nil {
			t.Fatal(err)
		}
	}
	got := outcomeOf(stages, less, 0, nil)
	if got.err != nil || !slices.EqualFunc(got.docs, want.docs, equalDocs) {
		t.Errorf("%s\nwith the needed fields only: %v\n%s\nwith all:\n%s", bsonx.FormatShell(stages), got.err,
			show(t, got.docs), show(t, want.docs))
	}
}

func sorted(docs []bsonx.Doc) []bsonx.Doc {
	return slices.SortedFunc(slices.Values(docs),
		func(a, b bsonx.Doc) int { return strings.Compare(string(a), string(b)) })
}

func equalDocs(a, b bsonx.Doc) bool { return string(a) == string(b) }

func show(t *testing.T, docs []bsonx.Doc) string {
	var lines strings.Builder
	for _, d := range docs {
		lines.WriteString("  " + print(t, d) + "\n")
	}
	return lines.String()
}

// TestRandomPipelines runs checkMatrix with random pipelines.
func TestRandomPipelines(t *testing.T) {
	t.Parallel()
	runs := *matrixRuns
	if runs == 0 {
		runs = torture.Part(1500)
	}
	for i := range runs {
		seed := *matrixSeed + uint64(i)
		g := generator{rand.New(rand.NewPCG(seed, 7))}
		docs := make([]bsonx.Doc, 1+g.IntN(25))
		for j := range docs {
			docs[j] = bsonxtest.Parse(t, g.document(j))
		}
		var stages []string
		for range 1 + g.IntN(6) {
			stages = append(stages, g.stages()...)
		}
		checkMatrix(t, bsonxtest.Parse(t, `{"v": [`+strings.Join(stages, ", ")+`]}`).Lookup("v"), docs)
		if t.Failed() {
			t.Fatalf("run it again with -pipeline.seed=%d -pipeline.runs=1 over\n%s", seed, show(t, docs))
		}
	}
}

// generator creates random documents and stages from few field names and values, so that stages
// often find matching documents.
type generator struct{ *rand.Rand }

func (g generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g generator) field() string { return g.pick("_id", "a", "b", "c", "o", "l") }

func (g generator) path() string {
	return g.pick("_id", "a", "b", "c", "o", "l", "o.p", "o.q", "l.p", "l.0", "_id.a", "a.p", "n")
}

func (g generator) value() string {
	return g.pick("0", "1", "2", "1.0", "1.5", `"x"`, `"y"`, "null", "true", "[]", "[1, 2]", `{"p": 1}`,
		`[{"p": 1, "q": 2}, {"p": 2}]`, `[[1], 2]`)
}

func (g generator) document(id int) string {
	fields := []string{fmt.Sprintf(`"_id": %d`, id)}
	for _, name := range []string{"a", "b", "c", "l", "o"} {
		if g.IntN(5) == 0 {
			continue
		}
		v := g.value()
		if name == "o" && g.IntN(3) > 0 {
			v = fmt.Sprintf(`{"p": %s, "q": %s}`, g.value(), g.value())
		}
		fields = append(fields, fmt.Sprintf("%q: %s", name, v))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

func (g generator) predicate(depth int) string {
	switch n := g.IntN(14); {
	case n == 0 && depth < 2:
		return fmt.Sprintf(`{%q: [%s, %s]}`, g.pick("$and", "$or", "$nor"), g.predicate(depth+1), g.predicate(depth+1))
	case n == 1:
		return fmt.Sprintf(`{"$expr": {%q: ["$%s", %s]}}`, g.pick("$eq", "$gt", "$ne"),
			g.pick("a", "b", "o.p", "n", "_id.a"), g.pick("1", "2", `"x"`, `"$b"`))
	case n == 2:
		return fmt.Sprintf(`{%q: {"$in": [%s, %s]}}`, g.path(), g.value(), g.value())
	case n == 3:
		return fmt.Sprintf(`{%q: {"$exists": %s}}`, g.path(), g.pick("true", "false"))
	case n == 4:
		return fmt.Sprintf(`{%q: {"$type": %s}}`, g.path(),
			g.pick(`"number"`, `"array"`, `"object"`, `"null"`, `"string"`))
	case n == 5:
		return fmt.Sprintf(`{%q: {"$elemMatch": {%q: %s}}}`, g.path(), g.pick("p", "q"), g.value())
	case n == 6:
		return fmt.Sprintf(`{%q: {"$not": {"$gt": %s}}}`, g.path(), g.value())
	case n == 7:
		return g.pick("{}", `{"$alwaysFalse": 1}`, `{"a": {"$in": []}}`, `{"$expr": false}`)
	case n < 10:
		return fmt.Sprintf(`{%q: %s, %q: %s}`, g.path(), g.value(),
			g.pick("a", "_id.b", "c"), g.pick("1", `{"$gte": 1}`))
	default:
		return fmt.Sprintf(`{%q: {%q: %s}}`, g.path(), g.pick("$eq", "$ne", "$gt", "$gte", "$lt", "$lte"), g.value())
	}
}

func (g generator) expression() string {
	return g.pick(`"$a"`, `"$b"`, `"$l"`, `"$o"`, `"$o.p"`, `"$l.p"`, `"$_id"`, `"$n"`,
		`"k"`, `{"$ifNull": ["$a", "$b"]}`,
		`{"x": "$a", "y": "$c"}`, `["$a", "$o.q"]`, `{"$type": "$l"}`, `{"$literal": 1}`, `"$$ROOT"`, `"$$REMOVE"`,
		`{"$cond": [{"$eq": ["$b", 1]}, "$c", "$$REMOVE"]}`)
}

// stages returns a random stage, or a short sequence to which an optimiser rule is likely to apply.
func (g generator) stages() []string {
	on := func(paths ...string) string {
		return fmt.Sprintf(`{"$match": {%q: %s}}`, g.pick(paths...),
			g.pick(g.value(), `{"$exists": false}`, `{"$type": "null"}`, `{"$ne": 1}`, `{"$gte": 1}`,
				`{"$in": [1, null]}`, `{"$size": 2}`))
	}
	switch g.IntN(13) {
	case 0:
		return []string{g.group(), on("_id", "_id.a", "_id.b", "a")}
	case 1:
		return []string{fmt.Sprintf(`{"$addFields": {"b": %s}}`,
			g.pick(`"$a"`, `"$l"`, `"$o.p"`, `"$n"`)), on("b", "b.p", "a", "b.0")}
	case 2:
		return []string{
			fmt.Sprintf(`{"$project": {"n": %s, "a": 1, "o.p": 1}}`, g.pick(`"$a"`, `"$l"`, `"$o"`)),
			on("n", "n.p", "a", "o.p", "_id", "c"),
		}
	case 3:
		return []string{fmt.Sprintf(`{"$unwind": {"path": "$%s", "includeArrayIndex": %q}}`, g.pick("l", "a", "o.p"),
			g.pick("n", "o.n", "b")), on("l", "n", "o.n", "b", "c", "a.p")}
	case 4:
		return []string{
			fmt.Sprintf(`{"$sort": {%q: 1}}`, g.path()), fmt.Sprintf(`{"$skip": %d}`, g.IntN(3)),
			fmt.Sprintf(`{"$limit": %d}`, 1+g.IntN(5)),
		}
	case 5: // paths below a field that is a document, an array or a scalar
		return []string{
			g.pick(`{"$addFields": {"o.q": "$b", "l.q": 1}}`,
				`{"$addFields": {"o": {"q": "$n"}}}`, `{"$unset": ["o.q", "l.q"]}`,
				`{"$project": {"o.p": 1, "l": {"p": 1, "q": "$a"}}}`),
			on("o.p", "o.q", "o", "o.0", "o.p.0", "l.p", "l.p.q", "l.0"),
		}
	default:
		return []string{g.stage()}
	}
}

func (g generator) stage() string {
	switch g.IntN(16) {
	case 0, 1, 2, 3:
		return fmt.Sprintf(`{"$match": %s}`, g.predicate(0))
	case 4:
		return fmt.Sprintf(`{"$sort": {%q: %s}}`, g.path(), g.pick("1", "-1"))
	case 5:
		return fmt.Sprintf(`{"$limit": %d}`, 1+g.IntN(8))
	case 6:
		return fmt.Sprintf(`{"$skip": %d}`, g.IntN(4))
	case 7, 8:
		return fmt.Sprintf(`{%q: {%q: %s}}`, g.pick("$addFields", "$set"),
			g.pick(g.field(), g.path(), "n"), g.expression())
	case 9, 10:
		return g.projection()
	case 11:
		return fmt.Sprintf(`{"$unset": %q}`, g.path())
	case 12:
		return g.pick(`{"$unwind": "$l"}`, `{"$unwind": {"path": "$l", "preserveNullAndEmptyArrays": true}}`, `{"$unwind": {"path": "$a", "includeArrayIndex": "n"}}`,
			`{"$unwind": {"path": "$o.p", "includeArrayIndex": "o.i", "preserveNullAndEmptyArrays": true}}`)
	case 13:
		return g.pick(`{"$replaceRoot": {"newRoot": {"$mergeObjects": [{"_id": "$_id", "a": "$b"}, {"o": "$o"}]}}}`, `{"$replaceWith": {"_id": "$a", "b": "$$ROOT.b"}}`)
	case 14:
		return g.group()
	default:
		return g.pick(`{"$count": "n"}`, `{"$sortByCount": "$a"}`, `{"$redact": {"$cond": [{"$eq": ["$p", 2]}, "$$PRUNE", "$$DESCEND"]}}`)
	}
}

func (g generator) projection() string {
	id := g.pick("", `"_id": 0, `, `"_id": 1, `)
	switch g.IntN(3) {
	case 0:
		return fmt.Sprintf(`{"$project": {%s%q: 1, "b": 1}}`, id, g.pick("a", "o.p", "l", "l.p"))
	case 1:
		return fmt.Sprintf(`{"$project": {%s%q: 0}}`, strings.Replace(id, "1", "0", 1), g.pick("a", "o.p", "l", "l.p"))
	default:
		return fmt.Sprintf(`{"$project": {%s%q: %s, "c": 1}}`, id, g.pick("a", "b", "n", "o.p"), g.expression())
	}
}

func (g generator) group() string {
	key := g.pick(`"$a"`, `"$b"`, "null", `{"a": "$a", "b": "$b"}`, `"$o.p"`, `{"a": "$o.q"}`,
		`{"$ifNull": ["$a", "$c"]}`, `"$_id"`)
	return fmt.Sprintf(`{"$group": {"_id": %s, "a": {%q: %s}, "b": {"$sum": "$a"}, "c": {"$push": "$_id"}}}`, key, g.pick("$first", "$last", "$min", "$max"), g.expression())
}
