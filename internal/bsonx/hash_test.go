package bsonx_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

func TestEqualValuesHashAlike(t *testing.T) {
	t.Parallel()
	check := func(t *rapid.T, a, b bsonx.Value) {
		same := bsonx.Hash64(a) == bsonx.Hash64(b)
		if equal := bsonx.CompareValues(a, b) == 0; equal != same {
			t.Fatalf("%s and %s: equal %v, same hash %v", bsonx.FormatShell(a), bsonx.FormatShell(b), equal, same)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, bsonxtest.Value(2).Draw(t, "a"), bsonxtest.Value(2).Draw(t, "b"))
		n := bsonxtest.Number().Draw(t, "n")
		check(t, n, bsonxtest.Number().Draw(t, "m"))
		// The same number in other types, if they can represent it.
		if i, ok := n.AsExactInt64(); ok {
			check(t, n, bsonx.Int64(i))
		}
		f, _ := n.AsFloat64()
		check(t, n, bsonx.Double(f))
		if d, err := bsonx.ParseDecimal(bsonxtest.FormatDouble(f)); err == nil {
			check(t, bsonx.Double(f), d)
			check(t, bsonx.NewArray(n), bsonx.NewArray(d))
			check(t, d, d.Decimal().Reduced().Value())
		}
	})
}

func TestHashOfOneInAllTypes(t *testing.T) {
	t.Parallel()
	dec, _ := bsonx.ParseDecimal("1.000")
	want := bsonx.Hash64(bsonx.Int32(1))
	for _, v := range []bsonx.Value{bsonx.Int64(1), bsonx.Double(1), dec} {
		if bsonx.Hash64(v) != want {
			t.Errorf("%s", v.Type)
		}
	}
	if bsonx.Hash64(bsonx.String("a")) != bsonx.Hash64(bsonxtest.Symbol("a")) ||
		bsonx.Hash64(bsonx.Missing) != bsonx.Hash64(bsonx.Null) {
		t.Error("types of one class")
	}
}

func TestExtJSON(t *testing.T) {
	t.Parallel()
	d := bsonxtest.Parse(t, `{"a": 1, "b": {"$numberLong": "5"}, "c": [1.5, "x", {"$oid": "0123456789abcdef01234567"}]}`)
	if got := bsonx.FormatShell(bsonx.Document(d)); got != `{ a: 1, b: 5, c: [ 1.5, "x", ObjectId('0123456789abcdef01234567') ] }` {
		t.Error(got)
	}
	for _, tc := range []struct {
		v                  bsonx.Value
		canonical, relaxed string
	}{
		{bsonx.Int32(1), `{"$numberInt":"1"}`, "1"},
		{bsonx.String(`q"`), `"q\""`, `"q\""`},
		{bsonx.Document(bsonx.NewDoc("a", int64(1))), `{"a":{"$numberLong":"1"}}`, `{"a":1}`},
		{bsonx.NewArray(true, nil), `[true,null]`, `[true,null]`},
	} {
		for canonical, want := range map[bool]string{true: tc.canonical, false: tc.relaxed} {
			got, err := bsonx.AppendExtJSON([]byte("x"), tc.v, canonical)
			if err != nil || string(got) != "x"+want {
				t.Errorf("got %s, want %s (%v)", got, want, err)
			}
		}
	}
	for _, bad := range []string{"", "{", `{"a":}`, "[1]"} {
		if _, err := bsonxtest.TryParse(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
