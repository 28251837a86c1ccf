package filter

import (
	"bufio"
	"os"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/recorded"
)

// The file testdata/recorded/details.jsonl contains results recorded with MongoDB: a validator v, a
// document d, and the details of its failure.
func TestExplain121Recorded(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/recorded/details.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		c, err := bsonxtest.TryParse(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		checkDetails(t, lines.Text(), c.Lookup("v").Doc(), c.Lookup("d").Doc(), c.Lookup("details").Doc())
	}
}

// checkDetails compares the details for doc with the recorded ones. The recording does not
// distinguish doubles from ints, so numbers are compared by value.
func checkDetails(t *testing.T, name string, validator, doc, want bsonx.Doc) {
	t.Helper()
	f, err := Parse(validator, Options{Vars: expressions.Scope(), AllowExpr: true, Now: time.Unix(0, 0)})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if ok, err := f.Match(doc); ok || err != nil {
		t.Errorf("%s: matched %v, %v", name, ok, err)
		return
	}
	if got := f.Explain121(doc, false, 1<<20); bsonx.CompareDocs(got, want) != 0 {
		t.Errorf("%s:\n got %s\nwant %s", name, toJSON(got), toJSON(want))
	}
}

func TestExplain121Vectors(t *testing.T) {
	t.Parallel()
	for _, v := range recorded.Vectors(t, "validator") {
		if len(v.Setup) == 0 {
			continue
		}
		validator := bsonx.Doc(v.Setup[0]).Lookup("validator")
		for _, step := range v.Run {
			want := bsonx.Doc(step.Reply).Lookup("writeErrors.0.errInfo.details")
			if want.IsMissing() || validator.IsMissing() {
				continue
			}
			doc := bsonx.Doc(step.Command).Lookup("documents").Doc().Index(0).Doc()
			checkDetails(t, v.Name, validator.Doc(), doc, want.Doc())
		}
	}
}
