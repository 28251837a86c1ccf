package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/internal/transfer"
)

// sheafCommand runs a command line and returns its output.
func sheafCommand(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&errs)
	err = root.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// stored returns the documents of the collection test.c in a directory, without generated values of
// _id.
func stored(t *testing.T, dir string) []string {
	t.Helper()
	db, err := sheaf.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	cursor, err := db.Client().Database("test").Collection("c").Find(context.Background(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	var docs []bson.D
	if err := cursor.All(context.Background(), &docs); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, doc := range docs {
		if _, generated := doc[0].Value.(bson.ObjectID); generated {
			doc = doc[1:]
		}
		text, err := bson.MarshalExtJSON(doc, false, false)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestImportReportsBadLinesAndGoesOn(t *testing.T) {
	dir := t.TempDir()
	file := writeFile(t, "people.json", "{\"_id\":1,\"a\":\"x\"}\nnonsense\n{\"_id\":1}\n{\"_id\":2}\n")
	stdout, stderr, err := sheafCommand(t, "import", file, "--dir", dir, "-c", "c")
	if err == nil || !strings.Contains(err.Error(), "2 of 4 records did not go in") {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(stdout, "2 documents imported") || !strings.Contains(stdout, "2 records failed") {
		t.Errorf("stdout %q", stdout)
	}
	if !strings.Contains(stderr, "people.json:2: not a JSON document") ||
		!strings.Contains(stderr, "people.json:3: E11000") {
		t.Errorf("stderr %q", stderr)
	}
	expect(t, stored(t, dir), `{"_id":1,"a":"x"}`, `{"_id":2}`)
}

// TestImportRoundsNumbersWhenAsked: an import reports a number that would lose digits. With the
// flag --round-numbers, it rounds the number.
func TestImportRoundsNumbersWhenAsked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, "long.json", "{\"_id\":1,\"n\":0.1234567890123456789}\n")
	_, stderr, err := sheafCommand(t, "import", file, "--dir", dir, "-c", "c")
	if err == nil || !strings.Contains(stderr, "long.json:1: a double does not keep the number 0.1234567890123456789") {
		t.Errorf("error %v, stderr %q", err, stderr)
	}
	if _, stderr, err := sheafCommand(t, "import", file, "--dir", dir, "-c", "c", "--round-numbers"); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	expect(t, stored(t, dir), `{"_id":1,"n":0.12345678901234568}`)
}

func TestImportDropAndUpsert(t *testing.T) {
	dir := t.TempDir()
	first := writeFile(t, "first.json", `[{"_id":1,"k":{"n":1},"v":"old"},{"_id":2,"k":{"n":2},"v":"old"}]`)
	second := writeFile(t, "second.csv", "k.n,v\n2,new\n3,new\n")
	for _, args := range [][]string{
		{"import", first, "--dir", dir, "-c", "c"},
		{"import", second, "--dir", dir, "-c", "c", "--upsert-fields", "k.n"},
	} {
		if _, stderr, err := sheafCommand(t, args...); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, stderr)
		}
	}
	expect(t, stored(t, dir), `{"_id":1,"k":{"n":1},"v":"old"}`,
		`{"_id":2,"k":{"n":2},"v":"new"}`, `{"k":{"n":3},"v":"new"}`)
	if _, stderr, err := sheafCommand(t, "import", second, "--dir", dir, "-c", "c", "--drop"); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	expect(t, stored(t, dir), `{"k":{"n":2},"v":"new"}`, `{"k":{"n":3},"v":"new"}`)
}

func TestExport(t *testing.T) {
	dir := t.TempDir()
	in := writeFile(t, "in.json", "{\"_id\":1,\"a\":{\"$numberLong\":\"5\"},\"t\":{\"$date\":\"2020-01-02T00:00:00Z\"}}\n{\"_id\":2,\"a\":2.5}\n{\"_id\":3}\n")
	if _, stderr, err := sheafCommand(t, "import", in, "--dir", dir, "-c", "c"); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	cases := []struct {
		name string
		args []string
		want string
	}{
		{"relaxed", []string{"--sort", `{"_id":-1}`, "--limit", "2"}, "{\"_id\":3}\n{\"_id\":2,\"a\":2.5}\n"},
		{
			"canonical",
			[]string{"--canonical", "--query", `{"_id":1}`, "--projection", `{"_id":0,"a":1}`},
			"{\"a\":{\"$numberLong\":\"5\"}}\n",
		},
		{"array", []string{"--format", "jsonarray", "--skip", "2"}, "[\n{\"_id\":3}\n]\n"},
		{
			"csv",
			[]string{"--format", "csv", "--columns", "_id,t.date(02.01.2006),a"},
			"_id,t.date(02.01.2006),a\n1,02.01.2020,5\n2,,2.5\n3,,\n",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr, err := sheafCommand(t,
				append([]string{"export", "-", "--dir", dir, "-c", "c"}, c.args...)...)
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
			if stdout != c.want {
				t.Errorf("got\n%s\nwant\n%s", stdout, c.want)
			}
		})
	}
	out := filepath.Join(t.TempDir(), "out.json")
	if _, _, err := sheafCommand(t, "export", out, "--dir", dir, "-c", "c", "--canonical"); err != nil {
		t.Fatal(err)
	}
	again := t.TempDir()
	if _, _, err := sheafCommand(t, "import", out, "--dir", again, "-c", "c"); err != nil {
		t.Fatal(err)
	}
	expect(t, stored(t, again), stored(t, dir)...)
}

// TestFormatsByName imports and exports files whose names select the format. For other names, the
// commands must print the format that they chose.
func TestFormatsByName(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	for _, c := range []struct {
		name, text string
		guessed    bool
	}{
		{"a.csv", "_id,a\n1,x\n", false},
		{"a.TSV", "_id\ta\n1\tx\n", false},
		{"a.tab", "_id\ta\n1\tx\n", false},
		{"a.json", "{\"_id\":1,\"a\":\"x\"}\n", false},
		{"a.jsonl", "{\"_id\":1,\"a\":\"x\"}\n", false},
		{"a.ndjson", "{\"_id\":1,\"a\":\"x\"}\n", false},
		{"a.txt", "{\"_id\":1,\"a\":\"x\"}\n", true},
	} {
		dir := t.TempDir()
		_, stderr, err := sheafCommand(t, "import", writeFile(t, c.name, c.text), "--dir", dir, "-c", "c")
		if err != nil || strings.Contains(stderr,
			c.name+": read as JSON, since its name tells no format") != c.guessed {
			t.Errorf("%s: %v\n%s", c.name, err, stderr)
		}
		expect(t, stored(t, dir), `{"_id":1,"a":"x"}`)
		args := []string{"--dir", dir, "-c", "c"}
		if f, _ := transfer.FormatOf(c.name); f.IsTable() {
			args = append(args, "--columns", "_id,a")
		}
		out := filepath.Join(t.TempDir(), c.name)
		_, stderr, err = sheafCommand(t, append([]string{"export", out}, args...)...)
		if err != nil || strings.Contains(stderr,
			c.name+": written as JSON, since its name tells no format") != c.guessed {
			t.Errorf("%s: %v\n%s", c.name, err, stderr)
		}
		if text, err := os.ReadFile(out); err != nil || string(text) != c.text {
			t.Errorf("%s: %q, %v", c.name, text, err)
		}
	}
}

func TestTransferErrorsSayWhatToDo(t *testing.T) {
	cases := []struct {
		args []string
		want string
	}{
		{[]string{"import", "missing.json", "-c", "c"}, "missing.json"},
		{[]string{"import", "x.json"}, `"collection" not set`},
		{[]string{
			"import", writeFile(t, "x.json", "{}"), "-c", "c", "--uri",
			"mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=50",
		}, "sheaf serve"},
		{
			[]string{"import", writeFile(t, "x.json", "{}"), "-c", "c", "--format", "xml"},
			"use json, jsonarray, csv or tsv",
		},
		{[]string{
			"import", writeFile(t, "x.json", "{}"), "-c", "c", "--uri",
			"mongodb://127.0.0.1:1/?w=0",
		}, "leave w=0 out"},
		{
			[]string{"export", "-", "-c", "c", "--dir", t.TempDir(), "--query", "{"},
			"--query is not a document in Extended JSON",
		},
		{
			[]string{"export", "-", "-c", "c", "--dir", t.TempDir(), "--query", `{"a": 0.12345678901234567890}`},
			"a double does not keep the number 0.12345678901234567890",
		},
		{[]string{"export", "-", "-c", "c", "--dir", t.TempDir(), "--query", `{"a": 18446744073709551616}`}, "the integer 18446744073709551616 does not fit into 64 bits"},
		{
			[]string{"export", "-", "-c", "c", "--dir", t.TempDir(), "--query", `{} {}`},
			"--query is not a document in Extended JSON",
		},
		{[]string{"export", "x.tsv", "-c", "c", "--dir", t.TempDir()}, "names of its columns"},
		{[]string{"export", "x.csv", "-c", "c", "--dir", t.TempDir()}, "names of its columns"},
	}
	for _, c := range cases {
		if _, _, err := sheafCommand(t, c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q in it", c.args, err, c.want)
		}
	}
}

// TestUpsertOfRecordsWithoutKey: an import with upsert fields inserts each record that has none of
// these fields, because the record cannot replace any document.
func TestUpsertOfRecordsWithoutKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	in := writeFile(t, "in.json", `{"n":1}
{"n":2}
{"email":"a","n":3}
{"email":"a","n":4}
{"email":null,"n":5}
`)
	if out, _, err := sheafCommand(t, "import", in, "--dir", dir, "-c", "c", "--upsert-fields", "email"); err != nil ||
		!strings.Contains(out, "5 documents imported") {
		t.Fatalf("%v\n%s", err, out)
	}
	got := stored(t, dir)
	slices.Sort(got)
	expect(t, got, `{"email":"a","n":4}`, `{"email":null,"n":5}`, `{"n":1}`, `{"n":2}`)
}

// TestBadRecordsCostNoOthers: a bad record does not prevent other records of its batch, and is
// reported with its line, for inserts and for replacements.
func TestBadRecordsCostNoOthers(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	large := strings.Repeat("x", 16<<20)
	in := writeFile(t, "in.json", strings.Join([]string{
		`{"_id":1,"k":1}`, `{"$a":1,"k":5}`, `{"n":1,"_id":2}`, `{"_id":1}`, `{"k":2,"_id":1}`,
		`{"k":3,"t":"` + large + `"}`,
		`{"t":"` + large + `"}`, `{"_id":3,"k":7}`, `{"_id":3}`,
	}, "\n"))
	stdout, stderr, err := sheafCommand(t, "import", in, "--dir", dir, "-c", "c", "--upsert-fields", "k")
	if err == nil || !strings.Contains(stdout, " documents imported") {
		t.Errorf("%v\n%s", err, stdout)
	}
	reported := regexp.MustCompile(`in\.json:\d+`).FindAllString(stderr, -1)
	slices.Sort(reported)
	got := stored(t, dir)
	if len(got)+len(reported) != 9 || !slices.Contains(reported, "in.json:2") ||
		!slices.Contains(reported, "in.json:6") || !slices.Contains(reported, "in.json:7") {
		t.Errorf("stored %.200v, reported %v\n%s", got, reported, stderr)
	}
	for line, doc := range map[string]string{
		"in.json:1": `{"_id":1,"k":1}`, "in.json:3": `{"_id":2,"n":1}`, "in.json:4": `{"_id":1}`,
		"in.json:5": `{"_id":1,"k":2}`, "in.json:8": `{"_id":3,"k":7}`, "in.json:9": `{"_id":3}`,
	} {
		if slices.Contains(got, doc) == slices.Contains(reported, line) {
			t.Errorf("%s is stored: %v, reported: %v", doc, slices.Contains(got, doc), slices.Contains(reported, line))
		}
	}
}

// TestExportIntoWhatIsNoFile exports into a named pipe and through a symbolic link. The export may
// not replace them.
func TestExportIntoWhatIsNoFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if _, stderr, err := sheafCommand(t, "import", writeFile(t, "a.json", "{\"_id\":1}\n"),
		"--dir", dir, "-c", "c"); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	target := writeFile(t, "target.json", "old")
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink(target, link); err != nil {
		t.Skip("this system makes no symbolic links:", err)
	}
	if _, stderr, err := sheafCommand(t, "export", link, "--dir", dir, "-c", "c"); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "{\"_id\":1}\n" {
		t.Errorf("the link's target has %q, %v", text, err)
	}
	if _, stderr, err := sheafCommand(t, "export", os.DevNull, "--dir", dir, "-c", "c",
		"--format", "json"); err != nil {
		t.Errorf("%v\n%s", err, stderr)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s is %v, %v", os.DevNull, info, err)
	}
}

// TestExportReadsOnly: an export does not create a store.
func TestExportReadsOnly(t *testing.T) {
	dir := t.TempDir()
	for _, of := range []string{dir, filepath.Join(dir, "missing")} {
		if _, _, err := sheafCommand(t, "export", "-", "--dir", of, "-c", "c"); err == nil ||
			!strings.Contains(err.Error(), "--dir "+of) {
			t.Errorf("%s: %v", of, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the directory has %v, %v", left, err)
	}
}
