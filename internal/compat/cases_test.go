package compat

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

// Every test file has these cases.
const (
	caseTypes   = "values of four types"
	caseNull    = "null"
	caseMissing = "a missing field"
	caseArray   = "an array"
	caseError   = "an error"
)

// withoutCases lists the files that cannot have a case, with the reason.
var withoutCases = map[string]map[string]string{
	"filter/testdata/element/exists":                      {caseError: "any operand is true or false"},
	"expr/testdata/literal/literal":                       {caseError: "any operand is a literal"},
	"pipeline/testdata/stage/changestream":                {caseMissing: readsNothing},
	"pipeline/testdata/stage/changestreamsplitlargeevent": {caseMissing: readsNothing},
	"pipeline/testdata/stage/collstats":                   {caseMissing: readsNothing, caseArray: readsNothing},
	"pipeline/testdata/stage/currentop":                   {caseMissing: readsNothing, caseArray: readsNothing},
	"pipeline/testdata/stage/indexstats":                  {caseMissing: readsNothing, caseArray: readsNothing},
	"pipeline/testdata/stage/listlocalsessions":           {caseMissing: readsNothing},
	"pipeline/testdata/stage/listsessions":                {caseMissing: readsNothing},
	"pipeline/testdata/stage/plancachestats":              {caseMissing: readsNothing, caseArray: readsNothing},
}

const readsNothing = "the stage reads no field"

// TestFilesHaveCases: the file of each operator has cases of types, null, missing fields, arrays
// and errors.
func TestFilesHaveCases(t *testing.T) {
	var wrong []string
	for _, s := range sections() {
		files, ok := filesOf[s.title]
		if !ok {
			continue
		}
		seen := map[string]bool{}
		for _, e := range s.entries {
			file := files.of(s.title, e)
			if e.status != "supported" || seen[file] {
				continue
			}
			seen[file] = true
			path := filepath.ToSlash(filepath.Join(files.dir, file))
			cases := readCases(t, path)
			excused := withoutCases[strings.TrimPrefix(path, "../")]
			for _, want := range []string{caseTypes, caseNull, caseMissing, caseArray, caseError} {
				switch _, lacks := excused[want]; {
				case !cases[want] && !lacks:
					wrong = append(wrong, path+" has no case of "+want)
				case cases[want] && lacks:
					wrong = append(wrong, path+" has a case of "+want+" after all")
				}
			}
		}
	}
	for _, text := range wrong { // an error ends the reading of further files
		t.Error(text)
	}
}

// cases records which cases a test file covers.
type cases struct {
	docs  []bson.Raw
	types map[bson.Type]bool
	has   map[string]bool
}

// readCases returns which cases a file has.
func readCases(t *testing.T, path string) map[string]bool {
	t.Helper()
	c := &cases{types: map[bson.Type]bool{}, has: map[string]bool{}}
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		lines := parseLines(t, d.Input)
		c.has[caseError] = c.has[caseError] || strings.Contains(d.Expected, "error ")
		switch d.Cmd {
		case "docs", "doc":
			c.setDocs(lines, d.Cmd == "docs")
		case "collection":
			c.noteDocs(lines)
		case "update":
			if ops := slices.DeleteFunc(slices.Clone(lines), isNoDoc); len(ops) > 0 { // an update, then documents
				c.noteDocs(ops[1:])
				lines = ops[:1]
			}
			c.noteOperations(lines)
		default:
			c.noteOperations(lines)
		}
		return d.Expected
	})
	c.has[caseTypes] = len(c.types) >= 4
	return c.has
}

// parseLines parses documents, one on each line. A line that does not hold a document is a pipeline
// or an expression, and becomes the field v.
func parseLines(t *testing.T, text string) []bson.Raw {
	t.Helper()
	var docs []bson.Raw
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "filters ") // of an update
		if !strings.HasPrefix(line, "{") {
			line = `{"v":` + line + `}`
		}
		docs = append(docs, bson.Raw(bsonxtest.Parse(t, line)))
	}
	return docs
}

// isNoDoc reports whether a line of a test file is a value other than a document. parseLines has
// put such a value into a document as the field v.
func isNoDoc(line bson.Raw) bool { return !line.Lookup("v").IsZero() }

// setDocs sets the documents that the paths of expressions refer to. If there are several
// documents, all their fields count for the cases. Of a single document, only the fields that
// expressions read count.
func (c *cases) setDocs(docs []bson.Raw, several bool) {
	c.docs = docs
	if several {
		c.noteDocs(docs)
	}
}

// noteDocs notes the values of documents, and fields that only some of them have.
func (c *cases) noteDocs(docs []bson.Raw) {
	count := map[string]int{}
	for _, d := range docs {
		c.noteValue(bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: d}, false)
		elements, _ := d.Elements()
		for _, e := range elements {
			count[e.Key()]++
		}
	}
	for _, n := range count {
		c.has[caseMissing] = c.has[caseMissing] || n < len(docs)
	}
}

// noteOperations notes the literals of operations, and the values of the fields that they read.
func (c *cases) noteOperations(lines []bson.Raw) {
	for _, l := range lines {
		c.noteValue(bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: l}, true)
	}
}

// noteValue notes a value and the values in it. In an operation, an array may be the list of
// operands, so it counts as a value only if it is inside another array, or belongs to $literal or
// to a field.
func (c *cases) noteValue(v bson.RawValue, operation bool) {
	c.types[v.Type] = true
	switch v.Type {
	case bson.TypeNull:
		c.has[caseNull] = true
	case bson.TypeString:
		if operation {
			c.notePath(v.StringValue())
		}
	case bson.TypeArray:
		values, _ := v.Array().Values()
		nested := slices.ContainsFunc(values, func(e bson.RawValue) bool { return e.Type == bson.TypeArray })
		c.has[caseArray] = c.has[caseArray] || !operation || nested
		for _, e := range values {
			c.noteValue(e, operation)
		}
	case bson.TypeEmbeddedDocument:
		elements, _ := v.Document().Elements()
		for _, e := range elements {
			if operation && e.Value().
				Type == bson.TypeArray &&
				(e.Key() == "$literal" || !strings.HasPrefix(e.Key(), "$") && e.Key() != "v") {
				c.has[caseArray] = true
			}
			c.noteValue(e.Value(), operation)
		}
	default:
	}
}

// notePath notes what a field path of an expression leads to.
func (c *cases) notePath(path string) {
	path, ok := strings.CutPrefix(path, "$")
	if !ok || path == "" {
		return
	}
	if strings.HasPrefix(path, "$") {
		c.has[caseMissing] = c.has[caseMissing] || path == "$REMOVE"
		return
	}
	name, _, _ := strings.Cut(path, ".")
	found := false
	for _, d := range c.docs {
		if v, err := d.LookupErr(name); err == nil {
			found = true
			c.noteValue(v, false)
		}
	}
	c.has[caseMissing] = c.has[caseMissing] || !found
}
