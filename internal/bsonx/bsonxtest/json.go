package bsonxtest

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// TB is the part of testing.TB that the parsers use. rapid.T implements it too.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Parse parses a document in Extended JSON. It fails the test if the text is malformed.
func Parse(t TB, text string) bsonx.Doc {
	t.Helper()
	d, err := TryParse(text)
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return d
}

// ParseValue parses a value of any type in Extended JSON. It fails the test if the text is
// malformed.
func ParseValue(t TB, text string) bsonx.Value {
	t.Helper()
	return Parse(t, `{"v":`+text+`}`).Lookup("v")
}

// ParseD parses a document in Extended JSON to the driver's bson.D. It fails the test if the text
// is malformed.
func ParseD(t TB, text string) bson.D {
	t.Helper()
	var d bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &d); err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return d
}

// MustParse parses a document in Extended JSON, for tables of test cases. It panics if the text is
// malformed.
func MustParse(text string) bsonx.Doc {
	d, err := TryParse(text)
	if err != nil {
		panic(text + ": " + err.Error())
	}
	return d
}

// TryParse parses a document in Extended JSON. It returns an error if the text is malformed.
func TryParse(text string) (bsonx.Doc, error) {
	var d bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &d); err != nil {
		return nil, err
	}
	raw, err := bson.Marshal(d)
	return bsonx.Doc(raw), err
}
