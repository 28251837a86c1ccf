package filter

import (
	"bufio"
	"os"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

// The file testdata/recorded/positional.jsonl contains documents d, queries q and the index of the
// element that {$set: {"a.$": …}} changed in MongoDB, or -1 if $ found no element.
func TestMatchDetailsRecorded(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/recorded/positional.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		c, err := bsonxtest.TryParse(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		var d Details
		ok, err := mustParse(t, c.Lookup("q").Doc()).Normalize().MatchDetails(c.Lookup("d").Doc(), &d)
		if !ok || err != nil {
			t.Fatalf("%s: %v, %v", lines.Text(), ok, err)
		}
		got := int64(-1)
		if d.HasIndex {
			got = int64(d.ArrayIndex)
		}
		if want, _ := c.Lookup("index").AsInt64(); got != want {
			t.Errorf("%s: got %d", lines.Text(), got)
		}
	}
}
