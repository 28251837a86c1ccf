package pipeline_test

import (
	"bufio"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
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
	"github.com/sheafdb/sheaf/internal/projection"
)

// errSkip marks a vector that needs more than a pipeline or a projection over documents in memory.
var errSkip = errors.New("not applicable")

// TestVectors runs recorded MongoDB replies: aggregates, finds with a projection, and updates with a pipeline, over
// collections in memory. It reports for each area how many agree; VERBOSE=1 prints the others.
func TestVectors(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SHEAF_VECTORS")
	if dir == "" {
		dir = "../../../shared/vectors"
	}
	if _, err := os.Stat(filepath.Join(dir, "cases")); err != nil {
		t.Skip("no vectors")
	}
	// The least number of vectors of each area that must agree.
	for area, least := range map[string]int{
		"agg_expr": 431, "agg_modern_expr": 412, "projection": 75, "find_modern": 125, "agg_stage": 233,
		"agg_modern_stage": 58, "update_pipeline": 37, "numeric": 13, "cursor": 3,
	} {
		t.Run(area, func(t *testing.T) {
			t.Parallel()
			runArea(t, filepath.Join(dir, "cases", area+".jsonl"), least)
		})
	}
}

func runArea(t *testing.T, file string, least int) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var passed, failed, skipped, missing int
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var c bson.D
		if err := bson.UnmarshalExtJSON(lines.Bytes(), false, &c); err != nil {
			t.Fatal(err)
		}
		raw, err := bson.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		err = runCase(bsonx.Doc(raw))
		switch {
		case err == nil:
			passed++
		case errors.Is(err, errSkip):
			skipped++
		case mongoerr.CodeOf(err) == mongoerr.NotImplemented:
			missing++
			if os.Getenv("VERBOSE") == "2" {
				t.Logf("missing %s: %v", bsonx.Doc(raw).Lookup("name").Str(), err)
			}
		default:
			failed++
			if os.Getenv("VERBOSE") != "" {
				t.Logf("%s: %v", bsonx.Doc(raw).Lookup("name").Str(), err)
			}
		}
	}
	t.Logf("%s: %d agree, %d differ, %d not implemented, %d not applicable", filepath.Base(file), passed, failed, missing, skipped)
	if passed < least {
		t.Errorf("%d vectors agree, want at least %d", passed, least)
	}
}

// world is the database of one case.
type world map[string][]bsonx.Doc

func runCase(c bsonx.Doc) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("panic: " + strings.TrimSpace(toString(r)))
		}
	}()
	w := world{}
	for _, cmd := range c.Lookup("setup").Doc().Values() {
		if _, err := w.run(cmd.Doc()); err != nil {
			return err
		}
	}
	for _, step := range c.Lookup("run").Doc().Values() {
		if !step.Doc().Lookup("pick").IsMissing() {
			return errSkip
		}
		want := step.Doc().Lookup("reply").Doc()
		got, err := w.run(step.Doc().Lookup("command").Doc())
		var user *mongoerr.Error
		if errors.As(err, &user) && user.Code != mongoerr.NotImplemented {
			if we := want.Lookup("writeErrors"); we.Type == bsonx.TypeArray {
				want = we.Doc().Index(0).Doc()
			}
			if want.Lookup("code").Type != bsonx.TypeInt32 || want.Lookup("code").Int32() != int32(user.Code) {
				return errors.New(expr.Show(step.Doc().Lookup("command").Doc().Lookup("pipeline")) + ": got error " + user.Error() + "; want " + text(want))
			}
			continue
		}
		if err != nil {
			return err
		}
		if want.Lookup("ok").Int32() == 0 {
			return errors.New("got " + text(got) + " for " + text(step.Doc().Lookup("command").Doc()) + "; want " + text(want))
		}
		if want.Lookup("cursor").Doc().Lookup("open").Truthy() {
			return errSkip
		}
		if !sameReply(want, got, c.Lookup("unordered").Truthy()) {
			return errors.New("got " + text(got) + "\nfor " + text(step.Doc().Lookup("command").Doc()) + "\nwant " + text(want))
		}
	}
	return nil
}

func toString(v any) string {
	if err, ok := v.(error); ok {
		return err.Error()
	}
	s, _ := v.(string)
	return s
}

func text(d bsonx.Doc) string {
	out, err := bson.MarshalExtJSON(bson.Raw(d), false, false)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// run executes a command and returns what it replies of a cursor's batch, or nil.
func (w world) run(cmd bsonx.Doc) (bsonx.Doc, error) {
	name := cmd.First()
	coll := ""
	if !cmd.Lookup("sort").Doc().Lookup("$natural").IsMissing() {
		return nil, errSkip
	}
	if name.Value.Type == bsonx.TypeString {
		coll = name.Value.Str()
	}
	for it := cmd.Iter(); it.Next(); {
		switch string(it.Key()) {
		case "collation", "hint", "$db", "explain", "min", "max", "returnKey", "showRecordId", "batchSize", "singleBatch", "tailable", "allowDiskUse":
			return nil, errSkip
		}
	}
	switch string(name.Key) {
	case "insert":
		for _, d := range cmd.Lookup("documents").Doc().Values() {
			w[coll] = append(w[coll], idFirst(d.Doc()))
		}
		return nil, nil
	case "create", "createIndexes":
		return nil, nil
	case "aggregate":
		return w.aggregate(coll, cmd)
	case "find":
		return w.find(coll, cmd)
	case "update":
		return w.update(coll, cmd)
	}
	return nil, errSkip
}

func idFirst(d bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Value("_id", d.Lookup("_id"))
	for it := d.Iter(); it.Next(); {
		if string(it.Key()) != "_id" {
			b.ValueBytes(it.Key(), it.Value())
		}
	}
	b.End()
	return b.Bytes()
}

func (w world) aggregate(coll string, cmd bsonx.Doc) (bsonx.Doc, error) {
	if name := cmd.First().Value; name.Type != bsonx.TypeString || cmd.Lookup("cursor").Type != bsonx.TypeDocument || cmd.Lookup("cursor").Doc().Len() > 0 {
		return nil, errSkip
	}
	vars, err := expressions.Scope().WithLet(cmd.Lookup("let").Doc(), time.Now())
	if err != nil {
		return nil, err
	}
	p, err := pipeline.Parse(cmd.Lookup("pipeline"), pipeline.Options{Vars: vars, Now: time.Now()})
	if err != nil {
		return nil, err
	}
	return batch(p.Run(&pipeline.SliceSource{Docs: w[coll]}, nil))
}

func batch(src pipeline.Source) (bsonx.Doc, error) {
	docs := []bsonx.Doc{}
	err := pipeline.Drain(context.Background(), src, func(d bsonx.Doc) error {
		docs = append(docs, d.Clone())
		return nil
	})
	return bsonx.NewDoc("batch", docs), err
}

func (w world) find(coll string, cmd bsonx.Doc) (bsonx.Doc, error) {
	for _, key := range []string{"projection", "filter"} {
		if v := cmd.Lookup(key); !v.IsMissing() && v.Type != bsonx.TypeDocument {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "not an object")
		}
	}
	vars, err := expressions.Scope().WithLet(cmd.Lookup("let").Doc(), time.Now())
	if err != nil {
		return nil, err
	}
	now := time.Now()
	f, err := filter.Parse(cmd.Lookup("filter").Doc(), filter.FindOptions(vars, now))
	if err != nil {
		return nil, err
	}
	p, err := projection.Parse(cmd.Lookup("projection").Doc(), projection.Options{Filter: f, Vars: vars, Now: now})
	if err != nil {
		return nil, err
	}
	var stages []any
	if s := cmd.Lookup("sort"); s.Type == bsonx.TypeDocument {
		stages = append(stages, bsonx.NewDoc("$sort", s))
	}
	if s := cmd.Lookup("skip"); s.Truthy() {
		stages = append(stages, bsonx.NewDoc("$skip", s))
	}
	if s := cmd.Lookup("limit"); s.Truthy() {
		stages = append(stages, bsonx.NewDoc("$limit", s))
	}
	rest, err := pipeline.Parse(bsonx.NewArray(stages...), pipeline.Options{Vars: expressions.Scope()})
	if err != nil {
		return nil, err
	}
	var matched []bsonx.Doc
	for _, d := range w[coll] {
		ok, err := f.Match(d)
		if err != nil {
			return nil, err
		}
		if ok {
			matched = append(matched, d)
		}
	}
	docs := []bsonx.Doc{}
	err = pipeline.Drain(context.Background(), rest.Run(&pipeline.SliceSource{Docs: matched}, nil), func(d bsonx.Doc) error {
		out, err := p.Apply(nil, d, nil)
		docs = append(docs, out)
		return err
	})
	return bsonx.NewDoc("batch", docs), err
}

// update runs an update with a pipeline of one document by a plain filter; others do not apply here.
func (w world) update(coll string, cmd bsonx.Doc) (bsonx.Doc, error) {
	for it := cmd.Iter(); it.Next(); {
		if key := string(it.Key()); key != "update" && key != "updates" && key != "let" {
			return nil, errSkip
		}
	}
	vars, err := expressions.Scope().WithLet(cmd.Lookup("let").Doc(), time.Now())
	if err != nil {
		return nil, err
	}
	for _, u := range cmd.Lookup("updates").Doc().Values() {
		for it := u.Doc().Iter(); it.Next(); {
			if key := string(it.Key()); key != "q" && key != "u" && key != "multi" {
				return nil, errSkip
			}
		}
		if u.Doc().Lookup("u").Type != bsonx.TypeArray {
			return nil, errSkip
		}
		f, err := filter.Parse(u.Doc().Lookup("q").Doc(), filter.FindOptions(vars, time.Now()))
		if err != nil {
			return nil, err
		}
		t, err := pipeline.ParseUpdate(u.Doc().Lookup("u"), pipeline.Options{Vars: vars, Now: time.Now()})
		if err != nil {
			return nil, err
		}
		if err := w.transform(coll, f, t, u.Doc().Lookup("multi").Truthy()); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (w world) transform(coll string, f *filter.Filter, t *pipeline.Transformer, multi bool) error {
	for i, d := range w[coll] {
		ok, err := f.Match(d)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		out, err := t.Apply(d)
		if err != nil {
			return err
		}
		if id := out.Lookup("_id"); id.IsMissing() {
			b := bsonx.NewBuilder(nil)
			b.StartDoc()
			b.Value("_id", d.Lookup("_id"))
			b.Fields(out)
			b.End()
			out = b.Bytes()
		} else if bsonx.CompareValues(id, d.Lookup("_id")) != 0 {
			return errSkip // the update refuses it
		}
		w[coll][i] = idFirst(out).Clone()
		if !multi {
			return nil
		}
	}
	return nil
}

func sameReply(want, got bsonx.Doc, unordered bool) bool {
	if got == nil {
		return want.Lookup("writeErrors").IsMissing()
	}
	w := want.Lookup("cursor").Doc().Lookup("firstBatch").Doc().Values()
	g := got.Lookup("batch").Doc().Values()
	if len(w) != len(g) {
		return false
	}
	used := make([]bool, len(g))
	for i := range w {
		found := false
		for j := range g {
			if (j == i || unordered) && !used[j] && same(w[i], g[j]) {
				used[j], found = true, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// same compares by type and value; doubles with a tolerance.
func same(a, b bsonx.Value) bool {
	if a.Type != b.Type {
		return false
	}
	switch a.Type {
	case bsonx.TypeDouble:
		x, y := a.Double(), b.Double()
		return x == y || math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-12*math.Max(math.Abs(x), math.Abs(y)) && !math.IsInf(x, 0)
	case bsonx.TypeDocument, bsonx.TypeArray:
		x, y := a.Doc().Iter(), b.Doc().Iter()
		for {
			more, other := x.Next(), y.Next()
			if more != other {
				return false
			}
			if !more {
				return true
			}
			if string(x.Key()) != string(y.Key()) || !same(x.Value(), y.Value()) {
				return false
			}
		}
	default:
		return string(a.Data) == string(b.Data)
	}
}
