package filter

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The recorded replies of MongoDB servers are not part of this repository; the tests below are skipped without them.
func vectorsDir(t *testing.T) string {
	dir := os.Getenv("SHEAF_VECTORS")
	if dir == "" {
		dir = "../../../shared/vectors"
	}
	dir = filepath.Join(dir, "cases")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no vectors")
	}
	return dir
}

// readCases parses one file of vectors.
func readCases(t *testing.T, area string) []bsonx.Doc {
	file, err := os.Open(filepath.Join(vectorsDir(t), area+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var cases []bsonx.Doc
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		doc, err := extJSON(lines.Text())
		if err != nil {
			if strings.Contains(lines.Text(), "too-deep") || strings.Contains(err.Error(), "depth") {
				continue
			}
			t.Fatal(err)
		}
		cases = append(cases, doc)
	}
	return cases
}

func extJSON(text string) (bsonx.Doc, error) {
	var d bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &d); err != nil {
		return nil, err
	}
	raw, err := bson.Marshal(d)
	return bsonx.Doc(raw), err
}

func toJSON(doc bsonx.Doc) string {
	text, err := bson.MarshalExtJSON(bson.Raw(doc), false, false)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// faultyVector records that the engine took the answer from the _id index alone, though the schema is about the names
// of all fields: without the sort it answers as the manual says.
const faultyVector = "find_modern/jsonSchema/additionalProperties"

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, area := range []string{"query", "find_modern", "write", "command", "books", "index", "index_modern", "numeric", "cursor"} {
		applied := 0
		for _, c := range readCases(t, area) {
			name := c.Lookup("name").Str()
			docs, ok := insertedDocs(c.Lookup("setup"))
			if !ok || name == faultyVector {
				continue
			}
			for _, step := range c.Lookup("run").Doc().Values() {
				cmd := step.Doc().Lookup("command").Doc()
				if string(cmd.First().Key) != "find" {
					break // what follows may depend on a change
				}
				if !plainFind(cmd) || !step.Doc().Lookup("pick").IsMissing() {
					continue
				}
				reply := step.Doc().Lookup("reply").Doc()
				if !reply.Lookup("code").IsMissing() && !onlyFilter(cmd) {
					continue
				}
				applied++
				checkFind(t, name, docs, cmd, reply)
			}
		}
		t.Logf("%s: %d finds", area, applied)
	}
}

// insertedDocs collects what the setup inserts into "c"; ok is false where it does more than that.
func insertedDocs(setup bsonx.Value) (docs []bsonx.Doc, ok bool) {
	for _, v := range setup.Doc().Values() {
		cmd := v.Doc()
		first := cmd.First()
		switch string(first.Key) {
		case "insert":
			if first.Value.Str() != "c" {
				continue
			}
			for _, d := range cmd.Lookup("documents").Doc().Values() {
				if d.Doc().Lookup("_id").IsMissing() {
					return nil, false
				}
				docs = append(docs, idFirst(d.Doc()))
			}
		case "createIndexes":
		case "create":
			if cmd.Len() > 1 {
				return nil, false
			}
		default:
			return nil, false
		}
	}
	return docs, true
}

func idFirst(doc bsonx.Doc) bsonx.Doc {
	if string(doc.First().Key) == "_id" {
		return doc
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Value("_id", doc.Lookup("_id"))
	for it := doc.Iter(); it.Next(); {
		if string(it.Key()) != "_id" {
			b.ValueBytes(it.Key(), it.Value())
		}
	}
	b.End()
	return bsonx.Doc(b.Bytes())
}

func plainFind(cmd bsonx.Doc) bool {
	for it := cmd.Iter(); it.Next(); {
		switch string(it.Key()) {
		case "find":
			if it.Value().Type != bsonx.TypeString || it.Value().Str() != "c" {
				return false
			}
		case "filter":
			if it.Value().Type != bsonx.TypeDocument {
				return false
			}
		case "let":
			if it.Value().Type != bsonx.TypeDocument {
				return false
			}
		case "batchSize", "singleBatch", "comment", "sort", "projection":
		default:
			return false
		}
	}
	return true
}

// onlyFilter reports whether nothing but the filter can be what a find fails for.
func onlyFilter(cmd bsonx.Doc) bool {
	for it := cmd.Iter(); it.Next(); {
		switch string(it.Key()) {
		case "find", "filter", "let", "comment":
		case "sort":
			if !it.Value().Doc().Equal(bsonx.NewDoc("_id", 1)) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func checkFind(t *testing.T, name string, docs []bsonx.Doc, cmd, reply bsonx.Doc) {
	matches, err := runFind(docs, cmd)
	code := mongoerr.CodeOf(err)
	if want := reply.Lookup("code"); !want.IsMissing() {
		if n, _ := want.AsInt64(); n == int64(mongoerr.IndexNotFound) {
			return // the planner's to say
		} else if int64(code) != n {
			t.Errorf("%s: %s: code %d (%v), want %d", name, toJSON(cmd), code, err, n)
		}
		return
	}
	if code == mongoerr.NotImplemented {
		t.Logf("%s: %v", name, err)
		return
	}
	if err != nil {
		t.Errorf("%s: %s: %v", name, toJSON(cmd), err)
		return
	}
	var want []bsonx.Doc
	for _, v := range reply.LookupPath("cursor", "firstBatch").Doc().Values() {
		want = append(want, v.Doc())
	}
	if reply.LookupPath("cursor", "open").Truthy() || !cmd.Lookup("singleBatch").IsMissing() {
		return // the batch is a part of the result
	}
	sortByID(want)
	equal := func(a, b bsonx.Doc) bool { return bsonx.CompareDocs(a, b) == 0 }
	if !cmd.Lookup("projection").IsMissing() {
		for _, doc := range want {
			if id := cmd.LookupPath("projection", "_id"); doc.Lookup("_id").IsMissing() || !id.IsMissing() && !id.Type.IsNumber() {
				return
			}
		}
		equal = func(a, b bsonx.Doc) bool {
			return bsonx.CompareValues(a.Lookup("_id"), b.Lookup("_id")) == 0
		}
	}
	if !slices.EqualFunc(matches, want, equal) {
		t.Errorf("%s: %s:\n got %s\nwant %s", name, toJSON(cmd), docsJSON(matches), docsJSON(want))
	}
}

func runFind(docs []bsonx.Doc, cmd bsonx.Doc) ([]bsonx.Doc, error) {
	opts := FindOptions(expressions.Scope(), time.Unix(1_700_000_000, 0))
	if let := cmd.Lookup("let"); !let.IsMissing() {
		vars, err := expressions.Scope().WithLet(let.Doc(), time.Now())
		if err != nil {
			return nil, err
		}
		opts.Vars = vars
	}
	f, err := Parse(cmd.Lookup("filter").Doc(), opts)
	if err != nil {
		return nil, err
	}
	canonical := f.Normalize()
	again, err := reparse(canonical, opts)
	if err != nil {
		return nil, err
	}
	var out []bsonx.Doc
	for _, doc := range docs {
		ok, err := f.Match(doc)
		if err != nil {
			return nil, err
		}
		for _, other := range []*Filter{canonical, again} {
			if other == nil {
				continue
			}
			if same, err := other.Match(doc); same != ok || err != nil {
				return nil, errors.New("the canonical filter differs: " + toJSON(Serialize(canonical.Root)))
			}
		}
		if ok {
			out = append(out, doc)
		}
	}
	sortByID(out)
	return out, nil
}

func sortByID(docs []bsonx.Doc) {
	slices.SortStableFunc(docs, func(a, b bsonx.Doc) int {
		return bsonx.CompareValues(a.Lookup("_id"), b.Lookup("_id"))
	})
}

func docsJSON(docs []bsonx.Doc) string {
	var b bytes.Buffer
	for _, d := range docs {
		b.WriteString("\n  " + toJSON(d))
	}
	return b.String()
}
