package bsonx_test

import (
	"math"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

// TestFormatShell requires the notation of MongoDB's E11000 messages.
func TestFormatShell(t *testing.T) {
	t.Parallel()
	id := [12]byte{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67}
	dec := func(s string) bsonx.Value {
		v, err := bsonx.ParseDecimal(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tc := range []struct {
		v    bsonx.Value
		want string
	}{
		{bsonx.Missing, "null"},
		{bsonx.Null, "null"},
		{bsonx.Int32(1), "1"},
		{bsonx.Int64(5), "5"},
		{bsonx.Double(1), "1.0"},
		{bsonx.Double(0.1), "0.1"},
		{bsonx.Double(1e15), "1000000000000000.0"},
		{bsonx.Double(1e16), "1e+16"},
		{bsonx.Double(1.5e300), "1.5e+300"},
		{bsonx.Double(-1e-7), "-1e-07"},
		{bsonx.Double(1e-5), "1e-05"},
		{bsonx.Double(0.0001234), "0.0001234"},
		{bsonx.Double(123456789.123456789), "123456789.1234568"},
		{bsonx.Double(1.0 / 3), "0.3333333333333333"},
		{bsonx.Double(9007199254740992), "9007199254740992.0"},
		{bsonx.Double(math.Copysign(0, -1)), "-0.0"},
		{bsonx.Double(math.Inf(1)), "inf"},
		{bsonx.Double(math.Inf(-1)), "-inf"},
		{bsonx.Double(math.NaN()), "nan"},
		{dec("1.50"), "1.50"},
		{dec("-1E+3"), "-1E+3"},
		{dec("NaN"), "NaN"},
		{dec("-Infinity"), "-Infinity"},
		{bsonx.String("x"), `"x"`},
		{bsonx.String("q\"uo'te\\n\n\x01"), "\"q\"uo'te\\n\n\x01\""},
		{bsonx.String(strings.Repeat("a", 159)), `"` + strings.Repeat("a", 159) + `"`},
		{bsonx.String(strings.Repeat("a", 160)), `"` + strings.Repeat("a", 150) + `..."`},
		{bsonxtest.Symbol("sym"), `"sym"`},
		{bsonx.True, "true"},
		{bsonx.Document(bsonx.Empty), "{}"},
		{bsonx.NewArray(), "[]"},
		{
			bsonx.Document(bsonx.NewDoc("x", 1, "y.z", "s", "",
				bsonx.NewArray(1, bsonx.NewArray(), bsonx.Empty), "w sp", 1)),
			`{ x: 1, y.z: "s", : [ 1, [], {} ], w sp: 1 }`,
		},
		{bsonx.ObjectID(id), "ObjectId('0123456789abcdef01234567')"},
		{bsonx.Date(1500000000000), "new Date(1500000000000)"},
		{bsonx.Date(-1), "new Date(-1)"},
		{bsonx.Timestamp(5, 6), "Timestamp(5, 6)"},
		{bsonx.Binary(0, []byte{1, 2, 255}), "BinData(0, 0102FF)"},
		{bsonx.Binary(2, []byte{1, 0, 0, 0, 255}), "BinData(2, FF)"},
		{bsonx.Binary(4, []byte("0123456789abcdef")), `UUID("30313233-3435-3637-3839-616263646566")`},
		{bsonx.Binary(4, []byte("0123456789abcde")), "BinData(4, 303132333435363738396162636465)"},
		{bsonx.Binary(128, nil), "BinData(128, )"},
		{bsonx.Binary(0, make([]byte, 80)), "BinData(0, " + strings.Repeat("00", 80) + ")"},
		{bsonx.Binary(0, make([]byte, 81)), "BinData(0, " + strings.Repeat("00", 70) + "...)"},
		{bsonx.Regex("^a/b", "im"), "/^a/b/im"},
		{bsonxtest.Code("function() { return 1; }"), "function() { return 1; }"},
		{bsonxtest.Code(strings.Repeat("j", 80)), strings.Repeat("j", 70) + "..."},
		{bsonxtest.CodeWithScope("f()", bsonx.NewDoc("x", 1)), "CodeWScope( f(), { x: 1 })"},
		{bsonxtest.DBPointer("db.c", id), "DBRef('db.c',0123456789abcdef01234567)"},
		{bsonx.Undefined, "undefined"},
		{bsonx.MinKey, "MinKey"},
		{bsonx.MaxKey, "MaxKey"},
	} {
		if got := bsonx.FormatShell(tc.v); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
	deep := bsonx.Int32(1)
	for range 111 {
		deep = bsonx.Document(bsonx.NewDoc("x", deep))
	}
	want := strings.Repeat("{ x: ", 101) + "{ ... }" + strings.Repeat(" }", 101)
	if got := bsonx.FormatShell(deep); got != want {
		t.Errorf("deep nesting: %s", got)
	}
}
