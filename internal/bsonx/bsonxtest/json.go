package bsonxtest

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// TB is the part of testing.TB that the parsers need. rapid.T has it, too.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Parse reads a document in Extended JSON. It fails the test if the text is malformed.
func Parse(t TB, text string) bsonx.Doc {
	t.Helper()
	d, err := TryParse(text)
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return d
}

// ParseValue reads a value of any type in Extended JSON. It fails the test if the text is
// malformed.
func ParseValue(t TB, text string) bsonx.Value {
	t.Helper()
	return Parse(t, `{"v":`+text+`}`).Lookup("v")
}

// ParseD reads a document in Extended JSON as the driver's bson.D. It fails the test if the text is
// malformed.
func ParseD(t TB, text string) bson.D {
	t.Helper()
	var d bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &d); err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return d
}

// MustParse reads a document in Extended JSON, for tables of cases. It panics if the text is
// malformed.
func MustParse(text string) bsonx.Doc {
	d, err := TryParse(text)
	if err != nil {
		panic(text + ": " + err.Error())
	}
	return d
}

// TryParse reads a document in Extended JSON. It returns an error if the text is malformed.
func TryParse(text string) (bsonx.Doc, error) {
	var d bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &d); err != nil {
		return nil, err
	}
	raw, err := bson.Marshal(d)
	return bsonx.Doc(raw), err
}
