package update_test

import (
	"bytes"
	"flag"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/errortext"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/update"
)

var record = flag.String("record", "", "URI of a MongoDB server whose errors -rewrite writes")

// TestData runs the files under testdata/<family>/<operator>. Their commands are
//
//	update [matched=N] [insert] [nocase]   an update, then documents, one a line; "filters […]" may come first
//	upsert                                 a query, then an update
//	insert                                 documents
//
// For each document the result is the new document, "same" if it is not modified, or the error.
func TestData(t *testing.T) {
	t.Parallel()
	server := errortext.Dial(t, *record)
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			lines := strings.Split(strings.TrimSpace(d.Input), "\n")
			switch d.Cmd {
			case "update":
				return runUpdate(t, server, d, lines)
			case "upsert":
				return runUpsert(t, server, lines)
			case "insert":
				return runInsert(t, server, lines)
			default:
				t.Fatalf("unknown command %s", d.Cmd)
				return ""
			}
		})
	})
}

func runUpdate(t *testing.T, server *errortext.Server, d *datadriven.TestData, lines []string) string {
	filters := bsonx.Missing
	if text, ok := strings.CutPrefix(lines[0], "filters "); ok {
		filters, lines = bsonxtest.ParseValue(t, text), lines[1:]
	}
	opts := options(expressions.Scope(), filters)
	if d.HasArg("nocase") {
		opts.Compare = compareNoCase
	}
	u, err := update.Parse(bsonxtest.ParseValue(t, lines[0]), opts)
	if err != nil {
		return server.Of(t, err, asUpdate(bsonxtest.ParseValue(t, lines[0]), filters, false, bsonx.Empty)) + "\n"
	}
	if d.HasArg("insert") || d.HasArg("nocase") || d.HasArg("matched") {
		server = nil // the command for the server would also need a query
	}
	env := update.Env{Now: now, Insert: d.HasArg("insert")}
	if d.HasArg("matched") {
		d.ScanArgs(t, "matched", &env.MatchedIndex)
		env.HasMatchedIndex = true
	}
	var out strings.Builder
	for _, line := range lines[1:] {
		doc := bsonxtest.ParseValue(t, line).Doc()
		before := doc.Clone()
		after, changed, err := u.Apply(doc, env)
		switch {
		case err != nil:
			command := asUpdate(bsonxtest.ParseValue(t, lines[0]), filters, false, bsonx.Empty)
			out.WriteString(askAbout(t, server, err, doc, command))
		case !changed:
			out.WriteString("same\n")
			if !after.Equal(doc) {
				t.Errorf("%s: unchanged but different", line)
			}
		default:
			out.WriteString(text(t, after))
			if u.Kind() != update.KindOperators {
				break
			}
			// The result must be well-formed.
			if err := bsonx.Validate(after, bsonx.Limits{}); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
		if !before.Equal(doc) {
			t.Errorf("%s: the document was changed in place", line)
		}
	}
	return out.String()
}

func runUpsert(t *testing.T, server *errortext.Server, lines []string) string {
	command := asUpdate(bsonxtest.ParseValue(t, lines[1]), bsonx.Missing, true, bsonxtest.ParseValue(t, lines[0]).Doc())
	server.Fill(t, "c")
	u, err := update.Parse(bsonxtest.ParseValue(t, lines[1]), options(expressions.Scope(), bsonx.Missing))
	if err != nil {
		return server.Of(t, err, command) + "\n"
	}
	env := update.Env{Now: now, NewID: func() bsonx.Value { return bsonx.String("new") }}
	doc, err := update.UpsertDoc(bsonxtest.ParseValue(t, lines[0]).Doc(), u, env)
	if err != nil {
		return server.Of(t, err, command) + "\n"
	}
	return text(t, doc)
}

func runInsert(t *testing.T, server *errortext.Server, lines []string) string {
	var out strings.Builder
	for _, line := range lines {
		doc, err := update.PrepareInsert(bsonxtest.ParseValue(t, line).Doc(),
			func() bsonx.Value { return bsonx.String("new") }, func() (t, i uint32) { return 5, 6 })
		if err != nil {
			insert := bson.D{
				{"insert", "c"},
				{"documents", bson.A{raw(bsonxtest.ParseValue(t, line))}},
			}
			out.WriteString(server.Of(t, err, insert) + "\n")
			continue
		}
		out.WriteString(text(t, doc))
	}
	return out.String()
}

// compareNoCase compares strings without regard to case.
func compareNoCase(a, b bsonx.Value) int {
	if a.Type == bsonx.TypeString && b.Type == bsonx.TypeString {
		return bytes.Compare(bytes.ToLower(a.StrBytes()), bytes.ToLower(b.StrBytes()))
	}
	return bsonx.CompareValues(a, b)
}

// asUpdate returns the command that applies an update to the only document of a collection.
func asUpdate(u, filters bsonx.Value, upsert bool, query bsonx.Doc) bson.D {
	statement := bson.D{{"q", bson.Raw(query)}, {"u", raw(u)}, {"upsert", upsert}}
	if !filters.IsMissing() {
		statement = append(statement, bson.E{"arrayFilters", raw(filters)})
	}
	return bson.D{{"update", "c"}, {"updates", bson.A{statement}}}
}

// askAbout prints the server's result for an update of a document. A document without an _id gets
// one from the server, which the text may show.
func askAbout(t *testing.T, server *errortext.Server, err error, doc bsonx.Doc, command bson.D) string {
	if doc.Lookup("_id").IsMissing() {
		return errortext.Of(err) + "\n"
	}
	server.Fill(t, "c", doc)
	return server.Of(t, err, command) + "\n"
}

func raw(v bsonx.Value) bson.RawValue { return bson.RawValue{Type: bson.Type(v.Type), Value: v.Data} }

// text returns a document as Extended JSON in which plain integers are int32 and fractions are
// doubles.
func text(t *testing.T, doc bsonx.Doc) string {
	t.Helper()
	var b strings.Builder
	writeText(t, &b, bsonx.Document(doc))
	return b.String() + "\n"
}

func writeText(t *testing.T, b *strings.Builder, v bsonx.Value) {
	switch v.Type {
	case bsonx.TypeInt32:
		b.WriteString(strconv.Itoa(int(v.Int32())))
	case bsonx.TypeDocument, bsonx.TypeArray:
		open, end := "{", "}"
		if v.Type == bsonx.TypeArray {
			open, end = "[", "]"
		}
		b.WriteString(open)
		n := 0
		for it := v.Doc().Iter(); it.Next(); n++ {
			if n > 0 {
				b.WriteString(",")
			}
			if v.Type == bsonx.TypeDocument {
				b.WriteString(strconv.Quote(string(it.Key())) + ":")
			} else if string(it.Key()) != strconv.Itoa(n) {
				t.Errorf("array element %d has the key %s", n, it.Key())
			}
			writeText(t, b, it.Value())
		}
		b.WriteString(end)
	default:
		wrapped := toJSON(bsonx.NewDoc("v", v))
		b.WriteString(wrapped[len(`{"v":`) : len(wrapped)-1])
	}
}

// TestOperatorsHaveTests checks that every operator of the registry has its file, and every file an
// operator.
func TestOperatorsHaveTests(t *testing.T) {
	t.Parallel()
	steps := map[string]string{"$": "positional", "$[]": "all-positional", "$[<identifier>]": "filtered-positional"}
	want := map[string]bool{}
	for _, op := range update.Operators() {
		name, ok := steps[op.Name]
		if !ok {
			name = strings.ToLower(op.Name[1:])
		}
		want[filepath.Join("testdata", op.Family, name)] = true
	}
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(filepath.Dir(path)) == "document" ||
			strings.Contains(path, "fuzz") {
			return err
		}
		if !want[path] {
			t.Errorf("%s is not the test of an operator", path)
		}
		delete(want, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range want {
		t.Errorf("%s is missing", path)
	}
}
