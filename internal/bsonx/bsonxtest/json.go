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
	d, err := TryParseD(text)
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return d
}

// ParseA parses an array in Extended JSON to the driver's bson.A. It fails the test if the text is
// malformed or not an array.
func ParseA(t TB, text string) bson.A {
	t.Helper()
	v := ParseD(t, `{"v":`+text+`}`)[0].Value
	a, ok := v.(bson.A)
	if !ok {
		t.Fatalf("%.200s is not an array", text)
	}
	return a
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

// MustParseD parses a document in Extended JSON to the driver's bson.D, for tables of test cases.
// It panics if the text is malformed.
func MustParseD(text string) bson.D {
	d, err := TryParseD(text)
	if err != nil {
		panic(text + ": " + err.Error())
	}
	return d
}

// TryParse parses a document in Extended JSON. It returns an error if the text is malformed.
func TryParse(text string) (bsonx.Doc, error) {
	d, err := TryParseD(text)
	if err != nil {
		return nil, err
	}
	raw, err := bson.Marshal(d)
	return bsonx.Doc(raw), err
}

// TryParseD parses a document in Extended JSON to the driver's bson.D. It returns an error if the
// text is malformed.
func TryParseD(text string) (d bson.D, err error) {
	err = bson.UnmarshalExtJSON([]byte(text), false, &d)
	return d, err
}
