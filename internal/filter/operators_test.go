package filter

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/errortext"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

var record = flag.String("record", "", "URI of a MongoDB server whose errors -rewrite writes")

// TestOperators runs testdata/<family>/<operator>. The commands are:
//
//	docs     sets the documents, one per line
//	match    prints the _ids of the documents that each filter matches, or its error; one filter per line
//	plan     prints the canonical form of each filter
//	details  prints for each document why the filter on the first line rejects it
//
// `go test -rewrite` rewrites the output.
func TestOperators(t *testing.T) {
	t.Parallel()
	server := errortext.Dial(t, *record)
	for _, family := range families() {
		datadriven.Walk(t, filepath.Join("testdata", family), func(t *testing.T, path string) {
			var docs []bsonx.Doc
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				lines := readLines(t, d)
				switch d.Cmd {
				case "docs":
					docs = lines
					server.Fill(t, "c", docs...)
					return ""
				case "match":
					return eachLine(lines, func(filter bsonx.Doc) string {
						return matchOutput(t, server, docs, filter)
					})
				case "plan":
					return eachLine(lines, func(filter bsonx.Doc) string { return planOutput(t, server, filter) })
				case "details":
					return detailsOutput(docs, lines[0])
				}
				d.Fatalf(t, "unknown command")
				return ""
			})
		})
	}
}

// families returns the families that contain supported operators.
func families() []string {
	return []string{"comparison", "logical", "element", "evaluation", "array", "bitwise", "geospatial", "miscellaneous"}
}

func readLines(t *testing.T, d *datadriven.TestData) []bsonx.Doc {
	var docs []bsonx.Doc
	for line := range strings.Lines(d.Input) {
		doc, err := bsonxtest.TryParse(line)
		if err != nil {
			d.Fatalf(t, "%s: %v", line, err)
		}
		docs = append(docs, doc)
	}
	return docs
}

func eachLine(lines []bsonx.Doc, f func(bsonx.Doc) string) string {
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, "%s -> %s\n", toJSON(line), f(line))
	}
	return b.String()
}

func matchOutput(t *testing.T, server *errortext.Server, docs []bsonx.Doc, filter bsonx.Doc) string {
	matches, err := runFind(docs, bsonx.NewDoc("filter", filter))
	if err != nil {
		return server.Of(t, err, find(filter))
	}
	ids := []string{}
	for _, doc := range matches {
		ids = append(ids, bsonx.FormatShell(doc.Lookup("_id")))
	}
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, " ")
}

func find(filter bsonx.Doc) bson.D {
	return bson.D{{"find", "c"}, {"filter", bson.Raw(filter)}}
}

func planOutput(t *testing.T, server *errortext.Server, filter bsonx.Doc) string {
	f, err := Parse(filter, FindOptions(expressions.Scope(), time.Time{}))
	if err != nil {
		return server.Of(t, err, find(filter))
	}
	return toJSON(Serialize(f.Normalize().Root))
}

func detailsOutput(docs []bsonx.Doc, validator bsonx.Doc) string {
	f, err := Parse(validator, Options{Vars: expressions.Scope(), AllowExpr: true})
	if err != nil {
		return errortext.Of(err)
	}
	var b strings.Builder
	for _, doc := range docs {
		if ok, err := f.Match(doc); !ok && err == nil {
			fmt.Fprintf(&b, "%s: %s\n", bsonx.FormatShell(doc.Lookup("_id")), toJSON(f.Explain121(doc, false, 1<<20)))
		}
	}
	return b.String()
}

// TestEveryOperatorHasTests checks that every supported operator has a test file, and that
// unsupported operators are marked as such.
func TestEveryOperatorHasTests(t *testing.T) {
	t.Parallel()
	for _, op := range Operators() {
		if op.Status == feature.Supported {
			path := filepath.Join("testdata", op.Family, strings.ToLower(strings.TrimPrefix(op.Name, "$")))
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: %v", op.Name, err)
			}
			continue
		}
		_, err := Parse(bsonx.NewDoc("a", bsonx.NewDoc(op.Name, 1)), FindOptions(expressions.Scope(), time.Time{}))
		if mongoerr.CodeOf(err) != mongoerr.NotImplemented {
			t.Errorf("%s: %v", op.Name, err)
		}
	}
}
