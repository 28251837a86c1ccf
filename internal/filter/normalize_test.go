package filter

import (
	"bufio"
	"os"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// testdata/recorded/parsedquery.jsonl holds queries x and their parsedQuery in explain, as a MongoDB engine answered.
func TestParsedQueryRecorded(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/recorded/parsedquery.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		c, err := extJSON(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		got := Serialize(mustParse(t, c.Lookup("x").Doc()).Normalize().Root)
		if want := c.Lookup("parsed").Doc(); bsonx.CompareDocs(got, want) != 0 {
			t.Errorf("%s:\n got %s\nwant %s", toJSON(c.Lookup("x").Doc()), toJSON(got), toJSON(want))
		}
	}
}
