package metamorphic

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/torture"
)

var showSkipped = flag.Bool("metamorphic.skipped", false, "print the lines of files whose answer may differ, and why")

// setting is a way in which a server runs the pipelines of the data-driven tests.
type setting struct {
	name    string
	served  bool // the client connects over TCP
	indexed bool // every field of the documents has an index
	// unoptimised means that the server runs without the optimiser.
	unoptimised bool
	budget      int64 // memory of each stage in bytes; 0 for the default
	batch       int32 // documents of a batch; 0 for the default
	long        bool  // the setting is used only if tests do all of their work
}

// littleMemory is a budget in bytes that is less than most stages of the files need, so that they
// spill.
const littleMemory = 400

var settings = []setting{
	{name: "embedded", long: true},
	{name: "served", served: true, batch: 2, long: true},
	{name: "indexed", indexed: true, batch: 3},
	{name: "unoptimised", unoptimised: true, long: true},
	{name: "served, indexed, unoptimised", served: true, indexed: true, unoptimised: true, batch: 1, long: true},
	{name: "1 MiB", budget: 1 << 20, indexed: true, long: true},
	{name: "served, little memory", served: true, budget: littleMemory, batch: 2},
	{name: "indexed, unoptimised, little memory", indexed: true, unoptimised: true, budget: littleMemory, long: true},
}

// budgetParams are the server parameters that setUp sets to the budget. The parameters of $lookup
// cannot be so small.
var budgetParams = []string{
	"internalQueryMaxBlockingSortMemoryUsageBytes", "internalDocumentSourceGroupMaxMemoryBytes",
	"internalDocumentSourceSetWindowFieldsMaxMemoryBytes", "internalDocumentSourceBucketAutoMaxMemoryBytes",
	"internalDocumentSourceDensifyMaxMemoryBytes", "internalDocumentSourceGraphLookupMaxMemoryBytes",
}

// configure opens a database and sets it up.
func (s *setting) configure(t testing.TB) *mongo.Client {
	t.Helper()
	db, err := sheaf.Open(sheaf.Memory, &sheaf.Options{SlowOperation: -1, TestCommands: true})
	if err != nil {
		t.Fatal(err)
	}
	v := &variant{}
	if s.served {
		serve(t, v, db)
	} else {
		v.client, v.close = db.Client(), func() { _ = db.Close() }
	}
	t.Cleanup(v.close)
	if err := setUp(t.Context(), v.client, s.budget, s.unoptimised); err != nil {
		t.Fatal(err)
	}
	return v.client
}

// setUp sets the budget of the stages, if it is not 0, and disables the optimiser if requested.
func setUp(ctx context.Context, client *mongo.Client, budget int64, unoptimised bool) error {
	admin := client.Database("admin")
	if budget > 0 {
		cmd := bson.D{{"setParameter", 1}}
		for _, name := range budgetParams {
			cmd = append(cmd, bson.E{name, budget})
		}
		if err := admin.RunCommand(ctx, cmd).Err(); err != nil {
			return err
		}
	}
	if !unoptimised {
		return nil
	}
	return admin.RunCommand(ctx,
		bson.D{
			{"configureFailPoint", "disablePipelineOptimization"},
			{"mode", "alwaysOn"},
		}).Err()
}

// TestFiles runs the data-driven tests of stages, accumulators and expressions as commands in all
// settings. The expected answers come from the files, which the packages' own tests write.
func TestFiles(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"../pipeline/testdata/*/*", "../expr/testdata/*/*"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		files = append(files, names...)
	}
	for _, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if s.long {
				torture.NeedsLong(t)
			}
			if s.served {
				torture.SkipShort(t)
			}
			var ran, open atomic.Int64
			client := s.configure(t)
			for _, path := range files {
				f := &fileRun{setting: s, client: client, name: "db", ran: &ran, open: &open}
				file := filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
				if describesServer[file] {
					continue
				}
				t.Run(file, func(t *testing.T) { datadriven.RunTest(t, path, f.run) })
				if err := f.db().Drop(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%d lines, of them %d whose answer is open", ran.Load(), open.Load())
		})
	}
}

// describesServer has the files whose stages return documents about the server. Here, these
// documents are different.
var describesServer = map[string]bool{
	"stage/collstats": true, "stage/currentop": true, "stage/indexstats": true, "stage/listlocalsessions": true,
	"stage/listsessions": true, "stage/plancachestats": true,
	// Package command tests merging into a collection. The files here use a recorder instead of the
	// collection.
	"stage/merge": true, "stage/out": true,
}

// fileRun runs one file in one setting.
type fileRun struct {
	setting
	client    *mongo.Client
	name      string
	ran, open *atomic.Int64
	docs      []bson.Raw
	// unreal has the collections that no server can have, with documents without an _id.
	unreal []string
}

func (f *fileRun) db() *mongo.Database { return f.client.Database(f.name) }

func (f *fileRun) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "docs", "doc":
		f.docs = parseLines(t, d.Input)
		f.load(t, collName, f.docs)
	case "collection":
		name, docs := d.CmdArgs[0].Key, parseLines(t, d.Input)
		f.load(t, name, docs)
		if slices.ContainsFunc(docs, func(d bson.Raw) bool { return d.Lookup("_id").IsZero() }) {
			f.unreal = append(f.unreal, fmt.Sprintf("%q", name))
		}
	case "run", "update":
		expected := strings.Split(strings.TrimSuffix(d.Expected, "\n"), "\n")
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSpace(line)
			expected = expected[1:]
			n := slices.IndexFunc(expected, func(s string) bool { return !strings.HasPrefix(s, "  ") })
			if n < 0 {
				n = len(expected)
			}
			f.check(t, d, line, expected[:n])
			expected = expected[n:]
		}
	case "eval":
		expected := strings.Split(d.Expected, "\n")
		for i, line := range strings.Split(strings.TrimSuffix(d.Input, "\n"), "\n") {
			f.checkExpression(t, d, strings.TrimSpace(line), expected[i])
		}
	}
	return d.Expected
}

func parseLines(t *testing.T, text string) []bson.Raw {
	t.Helper()
	var docs []bson.Raw
	for line := range strings.Lines(text) {
		docs = append(docs, parse(t, line))
	}
	return docs
}

func parse(t *testing.T, text string) bson.Raw {
	t.Helper()
	return bson.Raw(bsonxtest.Parse(t, text))
}

// load fills a collection. If the setting has indexes, it creates one on each field and one on all
// fields.
func (f *fileRun) load(t *testing.T, name string, docs []bson.Raw) {
	t.Helper()
	coll := f.db().Collection(name)
	if err := coll.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(docs) == 0 {
		return
	}
	if _, err := coll.InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	if !f.indexed {
		return
	}
	for _, path := range append(fieldPaths(docs), "$**") {
		if _, err := coll.Indexes().
			CreateOne(t.Context(), mongo.IndexModel{Keys: bson.D{{path, 1}}}); err != nil {
			t.Fatal(err)
		}
	}
}

// fieldPaths returns the paths of the documents' fields, down to the second level.
func fieldPaths(docs []bson.Raw) []string {
	seen := map[string]bool{"_id": true}
	var paths []string
	add := func(path string) {
		if !seen[path] && len(paths) < 20 && !strings.ContainsAny(path, "$") &&
			!strings.HasPrefix(path, ".") && path != "" {
			seen[path] = true
			paths = append(paths, path)
		}
	}
	for _, d := range docs {
		elements, _ := d.Elements()
		for _, e := range elements {
			if strings.Contains(e.Key(), ".") {
				continue
			}
			add(e.Key())
			below, _ := e.Value().DocumentOK()
			inner, _ := below.Elements()
			for _, in := range inner {
				if in.Key() != "" && !strings.Contains(in.Key(), ".") {
					add(e.Key() + "." + in.Key())
				}
			}
		}
	}
	return paths
}

// check runs a pipeline and compares its documents with the documents in the file.
func (f *fileRun) check(t *testing.T, d *datadriven.TestData, line string, want []string) {
	t.Helper()
	if slices.ContainsFunc(f.unreal, func(name string) bool { return strings.Contains(line, name) }) {
		return
	}
	f.ran.Add(1)
	stages := parse(t, `{"v":`+line+`}`).Lookup("v")
	var got []string
	if d.Cmd == "update" {
		got = f.update(t, stages)
		if len(want) == 1 { // an invalid update pipeline: each document has the same error
			got = slices.Compact(got)
		}
	} else {
		docs, err := f.aggregate(t.Context(), stages)
		for _, doc := range docs {
			got = append(got, "  "+relaxed(t, doc))
		}
		if err != nil {
			got = []string{"  " + errorLine(t, err)}
		}
	}
	if slices.EqualFunc(got, want, sameAnswer) {
		return
	}
	if why := f.mayDiffer(stages, got, want); why != "" {
		f.open.Add(1)
		if *showSkipped {
			t.Logf("%s: %s", line, why)
		}
		return
	}
	t.Errorf("%s: %s\n%s\nin the file:\n%s", d.Pos, line, strings.Join(got, "\n"), strings.Join(want, "\n"))
}

// checkExpression evaluates an expression in a pipeline.
func (f *fileRun) checkExpression(t *testing.T, d *datadriven.TestData, line, want string) {
	t.Helper()
	f.ran.Add(1)
	if f.docs == nil {
		f.docs = []bson.Raw{parse(t, `{"_id": 1}`)}
		f.load(t, collName, f.docs)
	}
	stages := parse(t, `{"v": [{"$replaceWith": {"r": `+line+`}}]}`).Lookup("v")
	docs, err := f.aggregate(t.Context(), stages)
	got := ""
	switch {
	case err != nil:
		got = errorLine(t, err)
	case len(docs) == 0:
		got = "no document"
	default:
		got = strings.TrimSuffix(strings.TrimPrefix(text(docs[0]), `{"r":`), "}")
		if got == "{" {
			got = "missing"
		}
	}
	if !sameAnswer(got, want) {
		t.Errorf("%s: %s\n%s\nin the file:\n%s", d.Pos, line, got, want)
	}
}

func (f *fileRun) aggregate(ctx context.Context, stages bson.RawValue) ([]bson.Raw, error) {
	options := bson.D{}
	if f.batch > 0 {
		options = bson.D{{"batchSize", f.batch}}
	}
	var target any = collName
	if makesDocuments(stages) {
		target = 1
	}
	c, err := f.db().RunCommandCursor(ctx,
		bson.D{{"aggregate", target}, {"pipeline", stages}, {"cursor", options}})
	if err != nil {
		return nil, err
	}
	c.SetBatchSize(f.batch)
	var docs []bson.Raw
	err = c.All(ctx, &docs)
	return docs, err
}

// makesDocuments reports whether a pipeline begins with $documents, which needs no collection.
func makesDocuments(stages bson.RawValue) bool {
	list, ok := stages.ArrayOK()
	if !ok {
		return false
	}
	elements, _ := list.Values()
	if len(elements) == 0 {
		return false
	}
	doc, ok := elements[0].DocumentOK()
	if !ok {
		return false
	}
	_, err := doc.LookupErr("$documents")
	return err == nil
}

// update runs a pipeline as an update of each document.
func (f *fileRun) update(t *testing.T, stages bson.RawValue) []string {
	t.Helper()
	var out []string
	coll := f.db().Collection("updated")
	for _, doc := range f.docs {
		f.load(t, coll.Name(), []bson.Raw{doc})
		var reply struct {
			WriteErrors []struct {
				Code   int
				Errmsg string
			} `bson:"writeErrors"`
		}
		cmd := bson.D{
			{"update", coll.Name()},
			{"updates", bson.A{bson.D{{"q", bson.D{}}, {"u", stages}}}},
		}
		err := f.db().RunCommand(t.Context(), cmd).Decode(&reply)
		var failed mongo.WriteException
		switch {
		case errors.As(err, &failed) && len(failed.WriteErrors) > 0:
			out = append(out, "  "+line(failed.WriteErrors[0].Code, failed.WriteErrors[0].Message))
			continue
		case err != nil:
			return []string{"  " + errorLine(t, err)}
		case len(reply.WriteErrors) > 0:
			out = append(out, "  "+line(reply.WriteErrors[0].Code, reply.WriteErrors[0].Errmsg))
			continue
		}
		changed, err := coll.FindOne(t.Context(), bson.D{}).Raw()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, "  "+relaxed(t, changed))
	}
	return out
}

func relaxed(t *testing.T, doc bson.Raw) string {
	t.Helper()
	raw, err := bson.MarshalExtJSON(doc, false, false)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(raw))
}

// errorLine prints an error of a command in the format of the files.
func errorLine(t *testing.T, err error) string {
	t.Helper()
	var failed mongo.CommandError
	if !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return line(int(failed.Code), failed.Message)
}

func line(code int, text string) string {
	return "error " + mongoerr.Code(code).Name() + ": " + strings.ReplaceAll(text, "\n", `\n`)
}

// sameAnswer compares lines of an answer and of a file. An error of a command may have a prefix
// with its origin. The text of a reply is valid UTF-8.
func sameAnswer(got, want string) bool {
	if got == want {
		return true
	}
	gotName, gotText, isError := strings.Cut(got, ": ")
	wantName, wantText, _ := strings.Cut(strings.ToValidUTF8(want, "\uFFFD"), ": ")
	return isError && gotName == wantName && strings.HasPrefix(strings.TrimSpace(got), "error ") &&
		strings.HasSuffix(gotText, " :: caused by :: "+wantText)
}

// memoryErrors are the errors of stages that have too little memory and cannot spill.
var memoryErrors = []string{
	"QueryExceededMemoryLimitNoDiskUseAllowed", "ExceededMemoryLimit",
	"Location40099", "Location5414201",
}

// mayDiffer returns the reason why an answer may differ from the file, or "".
func (f *fileRun) mayDiffer(stages bson.RawValue, got, want []string) string {
	if len(got) == 0 {
		return ""
	}
	if name, _, _ := strings.Cut(got[0], ": "); f.budget == littleMemory && len(got) == 1 &&
		slices.Contains(memoryErrors, strings.TrimPrefix(name, "  error ")) {
		return "the stage does not spill"
	}
	if (f.indexed || f.budget > 0) &&
		slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		return "another order"
	}
	return ""
}
