package transfer

import (
	"bytes"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func export(t *testing.T, f Format, opts WriterOptions, doc bson.D) (string, error) {
	t.Helper()
	raw, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, f, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(raw); err != nil {
		return out.String(), err
	}
	err = w.Close()
	return out.String(), err
}

// TestTextThatIsNotUTF8 checks that CSV keeps the bytes. JSON stops and names the document, or
// replaces the bytes if that is requested.
func TestTextThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	for field, doc := range map[string]bson.D{
		"a":    {{"_id", 7}, {"a", "x\xffy"}},
		"b.c":  {{"_id", 7}, {"b", bson.D{{"c", "\xc3"}}}},
		"b.0":  {{"_id", 7}, {"b", bson.A{"\xed\xa0\x80"}}},
		`\xff`: {{"_id", 7}, {"\xff", 1}},
		"r":    {{"_id", 7}, {"r", bson.Regex{Pattern: "\xff"}}},
		"j":    {{"_id", 7}, {"j", bson.JavaScript("\xff")}},
	} {
		for _, f := range []Format{JSON, JSONArray} {
			_, err := export(t, f, WriterOptions{}, doc)
			if err == nil || !strings.Contains(err.Error(), `"7"`) || !strings.Contains(err.Error(), `"`+field+`"`) {
				t.Errorf("%v as %s: %v", doc, f, err)
			}
			text, err := export(t, f, WriterOptions{Replace: true}, doc)
			if err != nil || !strings.Contains(text, "\uFFFD") && !strings.Contains(text, `\ufffd`) {
				t.Errorf("%v as %s, replaced: %q, %v", doc, f, text, err)
			}
		}
	}
	doc := bson.D{{"_id", 7}, {"a", "x\xffy"}, {"b", bson.A{"\xff"}}}
	text, err := export(t, CSV, WriterOptions{Columns: []string{"_id", "a"}}, doc)
	if want := "_id,a\n7,x\xffy\n"; err != nil || text != want {
		t.Errorf("CSV: %q, %v, want %q", text, err, want)
	}
	r, err := NewReader(strings.NewReader(text), CSV, ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if back, _, err := r.Next(); err != nil || back.Lookup("a").StringValue() != "x\xffy" {
		t.Errorf("read again: %v, %v", back, err)
	}
	if _, err := export(t, CSV, WriterOptions{Columns: []string{"b"}}, doc); err == nil {
		t.Error("a cell of JSON has text that is not UTF-8")
	}
	r, err = NewReader(strings.NewReader("{\"a\": \"x\xff\"}\n"), JSON, ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if doc, _, err := r.Next(); err == nil {
		t.Errorf("JSON that is not UTF-8 was read as %v", doc)
	}
}
