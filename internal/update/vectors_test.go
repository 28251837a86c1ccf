package update_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/update"
)

// The recorded replies of MongoDB servers are not part of this repository; TestVectors is skipped without
// them. It plays the insert, update, findAndModify and find commands of a case on a slice of documents.
func TestVectors(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SHEAF_VECTORS")
	if dir == "" {
		dir = "../../../shared/vectors"
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no vectors")
	}
	for _, area := range []string{"update", "numeric", "findandmodify", "books", "update_pipeline", "write"} {
		played, skipped := 0, map[string]int{}
		for _, c := range readCases(t, filepath.Join(dir, "cases", area+".jsonl")) {
			name := c.Lookup("name").Str()
			w := &world{map[string]*collection{}}
			why := w.play(t, name, c)
			if why != "" {
				skipped[why]++
				continue
			}
			played++
		}
		t.Logf("%s: %d cases played, not applicable: %v", area, played, skipped)
	}
}

func readCases(t *testing.T, path string) []bsonx.Doc {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var cases []bsonx.Doc
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var d bson.D
		if err := bson.UnmarshalExtJSON(lines.Bytes(), false, &d); err != nil {
			continue // deeper than the reader allows
		}
		raw, err := bson.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, raw)
	}
	return cases
}

// world is the collections of a case.
type world struct{ collections map[string]*collection }

type collection struct{ docs []bsonx.Doc }

// collection returns the one that a command names.
func (w *world) collection(cmd bsonx.Doc) *collection {
	name := cmd.First().Value.Str()
	if w.collections[name] == nil {
		w.collections[name] = &collection{}
	}
	return w.collections[name]
}

// play runs a case and returns why it cannot be run here, if so.
func (w *world) play(t *testing.T, name string, c bsonx.Doc) string {
	for _, v := range c.Lookup("setup").Doc().Values() {
		if why := w.setup(v.Doc()); why != "" {
			return why
		}
	}
	changes := false
	for _, step := range c.Lookup("run").Doc().Values() {
		cmd := step.Doc().Lookup("command").Doc()
		if why := applicable(cmd); why != "" && !readsOnly(cmd) {
			return why
		}
		changes = changes || !readsOnly(cmd)
	}
	if !changes {
		return "no change"
	}
	for i, step := range c.Lookup("run").Doc().Values() {
		cmd := step.Doc().Lookup("command").Doc()
		want := step.Doc().Lookup("reply").Doc()
		if readsOnly(cmd) && applicable(cmd) != "" {
			continue
		}
		got := w.run(cmd)
		if !step.Doc().Lookup("pick").IsMissing() {
			continue
		}
		if string(cmd.First().Key) == "find" && want.Lookup("ok").Type == bsonx.TypeInt32 && want.Lookup("ok").Int32() == 1 {
			want = bsonx.NewDoc("docs", want.Lookup("cursor").Doc().Lookup("firstBatch"))
		}
		if !equal(bsonx.Document(want), bsonx.Document(got)) {
			t.Errorf("%s: step %d\n   run %s\n  want %s\n   got %s", name, i, toJSON(cmd), toJSON(want), toJSON(got))
			return ""
		}
	}
	return ""
}

// setup runs a setup command and returns why it cannot be run here.
func (w *world) setup(cmd bsonx.Doc) string {
	switch string(cmd.First().Key) {
	case "insert":
		for _, d := range cmd.Lookup("documents").Doc().Values() {
			if err := w.collection(cmd).insert(d.Doc()); err != nil {
				return err.Error()
			}
		}
		return ""
	case "createIndexes":
		for _, v := range cmd.Lookup("indexes").Doc().Values() {
			if !v.Doc().Lookup("unique").IsMissing() {
				return "unique index"
			}
		}
		return ""
	case "create":
		if cmd.Len() == 1 {
			return ""
		}
	}
	return "setup " + string(cmd.First().Key)
}

// readsOnly reports whether a command can be left out where it cannot be run here.
func readsOnly(cmd bsonx.Doc) bool {
	return slices.Contains([]string{"find", "aggregate", "count", "distinct"}, string(cmd.First().Key))
}

// applicable returns why a command cannot be run here.
func applicable(cmd bsonx.Doc) string {
	known := map[string][]string{
		"find":          {"find", "filter", "sort"},
		"insert":        {"insert", "documents", "ordered"},
		"update":        {"update", "updates", "ordered", "let"},
		"findAndModify": {"findAndModify", "findandmodify", "query", "update", "new", "upsert", "arrayFilters", "sort", "let"},
	}
	known["findandmodify"] = known["findAndModify"]
	fields, ok := known[string(cmd.First().Key)]
	if !ok {
		return string(cmd.First().Key)
	}
	for it := cmd.Iter(); it.Next(); {
		if !slices.Contains(fields, string(it.Key())) {
			return string(cmd.First().Key) + "." + string(it.Key())
		}
	}
	if s := cmd.Lookup("sort"); !s.IsMissing() && (s.Type != bsonx.TypeDocument || s.Doc().Len() > 1) {
		return "sort"
	}
	if malformed(cmd) {
		return "malformed command"
	}
	updates := cmd.Lookup("updates")
	if updates.IsMissing() {
		return ""
	}
	for _, st := range updates.Doc().Values() {
		for it := st.Doc().Iter(); it.Next(); {
			switch string(it.Key()) {
			case "q", "u", "arrayFilters":
				if it.Value().Type != bsonx.TypeDocument && it.Value().Type != bsonx.TypeArray {
					return "malformed statement"
				}
			case "multi", "upsert":
				if it.Value().Type != bsonx.TypeBool {
					return "malformed statement"
				}
			case "sort":
				if it.Value().Type != bsonx.TypeDocument || it.Value().Doc().Len() > 1 || st.Doc().Lookup("multi").Truthy() {
					return "statement sort"
				}
			default:
				return "statement " + string(it.Key())
			}
		}
		if st.Doc().Lookup("q").IsMissing() || st.Doc().Lookup("u").IsMissing() {
			return "malformed statement"
		}
	}
	return ""
}

// malformed reports whether the command layer refuses a command.
func malformed(cmd bsonx.Doc) bool {
	if v := cmd.First().Value; v.Type != bsonx.TypeString || v.Str() == "" {
		return true
	}
	if v := cmd.Lookup("ordered"); !v.IsMissing() && v.Type != bsonx.TypeBool {
		return true
	}
	list := map[string]string{"insert": "documents", "update": "updates"}[string(cmd.First().Key)]
	if list == "" {
		return false
	}
	v := cmd.Lookup(list)
	return v.Type != bsonx.TypeArray || v.Doc().IsEmpty() ||
		slices.ContainsFunc(v.Doc().Values(), func(e bsonx.Value) bool { return e.Type != bsonx.TypeDocument })
}

func (w *collection) insert(d bsonx.Doc) error {
	doc, err := update.PrepareInsert(d, nil, anyTime)
	if err != nil {
		return err
	}
	for _, other := range w.docs {
		if bsonx.CompareValues(other.Lookup("_id"), doc.Lookup("_id")) == 0 {
			return mongoerr.New(mongoerr.Code(11000), "duplicate key")
		}
	}
	w.docs = append(w.docs, doc.Clone())
	return nil
}

func (w *world) run(cmd bsonx.Doc) bsonx.Doc {
	var out bsonx.Doc
	var err error
	c := w.collection(cmd)
	switch string(cmd.First().Key) {
	case "find":
		out, err = c.find(cmd)
	case "insert":
		out, err = c.inserts(cmd)
	case "update":
		out, err = c.updates(cmd)
	default:
		out, err = c.findAndModify(cmd)
	}
	if err != nil {
		return bsonx.NewDoc("ok", 0, "code", int32(mongoerr.CodeOf(err)))
	}
	return out
}

func (w *collection) inserts(cmd bsonx.Doc) (bsonx.Doc, error) {
	ordered := cmd.Lookup("ordered").IsMissing() || cmd.Lookup("ordered").Truthy()
	n := 0
	var failures []bsonx.Doc
	for i, d := range cmd.Lookup("documents").Doc().Values() {
		if err := w.insert(d.Doc()); err != nil {
			failures = append(failures, bsonx.NewDoc("index", i, "code", int32(mongoerr.CodeOf(err))))
			if ordered {
				break
			}
			continue
		}
		n++
	}
	out := []any{"ok", 1, "n", n}
	if failures != nil {
		out = append(out, "writeErrors", failures)
	}
	return bsonx.NewDoc(out...), nil
}

func (w *collection) updates(cmd bsonx.Doc) (bsonx.Doc, error) {
	vars, err := expressions.Scope().WithLet(cmd.Lookup("let").Doc(), time.Now())
	if err != nil {
		return nil, err
	}
	var n, modified int
	var upserted, failures []bsonx.Doc
	ordered := cmd.Lookup("ordered").IsMissing() || cmd.Lookup("ordered").Truthy()
	for i, v := range cmd.Lookup("updates").Doc().Values() {
		st := v.Doc()
		r, err := w.update(request{
			query: st.Lookup("q").Doc(), update: st.Lookup("u"), filters: st.Lookup("arrayFilters"), sort: st.Lookup("sort"),
			multi: st.Lookup("multi").Truthy(), upsert: st.Lookup("upsert").Truthy(), vars: vars,
		})
		code := mongoerr.CodeOf(err)
		if st.Lookup("u").Type == bsonx.TypeArray && (code == 40324 || code == mongoerr.TypeMismatch) {
			return nil, err // noticed before any statement runs
		}
		if err != nil {
			failures = append(failures, bsonx.NewDoc("index", i, "code", int32(code)))
			if ordered {
				break
			}
			continue
		}
		n, modified = n+r.n, modified+r.modified
		if r.upserted != nil {
			n++
			upserted = append(upserted, bsonx.NewDoc("index", i, "_id", r.upserted.Lookup("_id")))
		}
	}
	out := []any{"ok", 1, "n", n, "nModified", modified}
	if upserted != nil {
		out = append(out, "upserted", upserted)
	}
	if failures != nil {
		out = append(out, "writeErrors", failures)
	}
	return bsonx.NewDoc(out...), nil
}

type request struct {
	query         bsonx.Doc
	update        bsonx.Value
	filters, sort bsonx.Value
	multi, upsert bool
	vars          *expr.Vars
}

type result struct {
	n, modified      int
	before, upserted bsonx.Doc
	after            bsonx.Doc
}

var now = time.Unix(1_700_000_000, 0)

type compiler struct{ vars *expr.Vars }

// CompileFilter implements update.Compiler: neither $expr nor $where is allowed.
func (c compiler) CompileFilter(doc bsonx.Doc) (update.Matcher, error) {
	return filter.Parse(doc, filter.Options{Vars: c.vars, Now: now})
}

// CompilePipeline implements update.Compiler.
func (c compiler) CompilePipeline(stages bsonx.Value) (update.Transformer, error) {
	return pipeline.ParseUpdate(stages, pipeline.Options{Vars: c.vars, Now: now})
}

func options(vars *expr.Vars, filters bsonx.Value) update.Options {
	opts := update.Options{Compiler: compiler{vars}}
	if !filters.IsMissing() {
		for _, v := range filters.Doc().Values() {
			opts.ArrayFilters = append(opts.ArrayFilters, v.Doc())
		}
	}
	return opts
}

func (w *collection) update(r request) (result, error) {
	var out result
	opts := filter.FindOptions(r.vars, now)
	opts.AllowExpr = !r.upsert
	f, err := filter.Parse(r.query, opts)
	if err != nil {
		return out, err
	}
	u, err := update.Parse(r.update, options(r.vars, r.filters))
	if err != nil {
		return out, err
	}
	if r.multi && u.Kind() == update.KindReplacement {
		return out, mongoerr.New(mongoerr.FailedToParse, "multi update is not supported for replacement-style update")
	}
	for _, i := range w.order(r.sort) {
		var d filter.Details
		matched, err := f.MatchDetails(w.docs[i], &d)
		if err != nil {
			return out, err
		}
		if !matched {
			continue
		}
		doc, changed, err := u.Apply(w.docs[i], update.Env{Now: now, MatchedIndex: d.ArrayIndex, HasMatchedIndex: d.HasIndex})
		if err != nil {
			return out, err
		}
		if err := bsonx.Validate(doc, bsonx.Limits{}); err != nil {
			return out, fmt.Errorf("invalid result: %w", err)
		}
		out.n++
		out.before, out.after = w.docs[i], doc
		if changed {
			out.modified++
			w.docs[i] = doc
		}
		if !r.multi {
			break
		}
	}
	if out.n == 0 && r.upsert {
		doc, err := update.UpsertDoc(r.query, u, update.Env{Now: now})
		if err != nil {
			return out, err
		}
		if err := w.insert(doc); err != nil {
			return out, err
		}
		out.upserted, out.after = doc, doc
	}
	return out, nil
}

// order returns the positions of the documents by one sort field.
func (w *collection) order(sort bsonx.Value) []int {
	out := make([]int, len(w.docs))
	for i := range out {
		out[i] = i
	}
	if sort.IsMissing() || sort.Doc().IsEmpty() {
		return out
	}
	key := sort.Doc().First()
	slices.SortStableFunc(out, func(a, b int) int {
		descending := bsonx.CompareValues(key.Value, bsonx.Int32(0)) < 0
		c := bsonx.CompareValues(sortKey(w.docs[a], key.Key, descending), sortKey(w.docs[b], key.Key, descending))
		if descending {
			return -c
		}
		return c
	})
	return out
}

// sortKey is a field's value, or the least or greatest element of an array.
func sortKey(doc bsonx.Doc, field []byte, descending bool) bsonx.Value {
	v := doc.Lookup(string(field))
	if v.Type != bsonx.TypeArray || v.Doc().IsEmpty() {
		return v
	}
	if descending {
		return slices.MaxFunc(v.Doc().Values(), bsonx.CompareValues)
	}
	return slices.MinFunc(v.Doc().Values(), bsonx.CompareValues)
}

func (w *collection) findAndModify(cmd bsonx.Doc) (bsonx.Doc, error) {
	if cmd.Lookup("update").IsMissing() {
		return nil, mongoerr.New(mongoerr.FailedToParse, "Either an update or remove=true must be specified")
	}
	vars, err := expressions.Scope().WithLet(cmd.Lookup("let").Doc(), time.Now())
	if err != nil {
		return nil, err
	}
	r, err := w.update(request{
		query: cmd.Lookup("query").Doc(), update: cmd.Lookup("update"), filters: cmd.Lookup("arrayFilters"),
		upsert: cmd.Lookup("upsert").Truthy(), sort: cmd.Lookup("sort"), vars: vars,
	})
	if err != nil {
		return nil, err
	}
	info := bsonx.NewDoc("n", r.n, "updatedExisting", r.n > 0)
	if r.upserted != nil {
		info = bsonx.NewDoc("n", 1, "updatedExisting", false, "upserted", r.upserted.Lookup("_id"))
	}
	value := bsonx.Null
	if cmd.Lookup("new").Truthy() {
		if r.after != nil {
			value = bsonx.Document(r.after)
		}
	} else if r.before != nil {
		value = bsonx.Document(r.before)
	}
	return bsonx.NewDoc("ok", 1, "value", value, "lastErrorObject", info), nil
}

func (w *collection) find(cmd bsonx.Doc) (bsonx.Doc, error) {
	f, err := filter.Parse(cmd.Lookup("filter").Doc(), filter.FindOptions(expressions.Scope(), now))
	if err != nil {
		return nil, err
	}
	var docs []bsonx.Doc
	for _, i := range w.order(cmd.Lookup("sort")) {
		matched, err := f.Match(w.docs[i])
		if err != nil {
			return nil, err
		}
		if matched {
			docs = append(docs, w.docs[i])
		}
	}
	return bsonx.NewDoc("docs", docs), nil
}

// equal compares replies: types and values, the order of fields, doubles nearly.
func equal(want, got bsonx.Value) bool {
	if want.Type != got.Type {
		return false
	}
	switch want.Type {
	case bsonx.TypeDocument, bsonx.TypeArray:
		a, b := want.Doc().Iter(), got.Doc().Iter()
		for {
			na, nb := a.Next(), b.Next()
			if !na || !nb {
				return na == nb
			}
			if !bytes.Equal(a.Key(), b.Key()) || !equal(a.Value(), b.Value()) {
				return false
			}
		}
	case bsonx.TypeDouble:
		a, b := want.Double(), got.Double()
		return a == b || a != a && b != b
	default:
		return bytes.Equal(want.Data, got.Data)
	}
}

func toJSON(doc bsonx.Doc) string {
	text, err := bson.MarshalExtJSON(bson.Raw(doc), true, false)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}
