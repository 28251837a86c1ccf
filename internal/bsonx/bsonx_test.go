package bsonx_test

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

func benchDoc() bsonx.Doc {
	return bsonx.NewDoc("_id", bsonx.ObjectID([12]byte{1}), "name", "a name of some length", "n", 5, "price", 19.99,
		"created", bsonx.Date(1500000000000), "tags", bsonx.NewArray("a", "b", "c"),
		"address", bsonx.NewDoc("street", "a street", "city", "Basel", "zip", "4001"), "active", true,
		"description", string(bytes.Repeat([]byte("lorem ipsum "), 60)), "last", 1)
}

func BenchmarkLookup(b *testing.B) {
	d := benchDoc()
	for _, name := range []string{"_id", "n", "last", "none"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.Lookup(name)
			}
		})
	}
}

func BenchmarkIter(b *testing.B) {
	d := benchDoc()
	b.ReportAllocs()
	for b.Loop() {
		for it := d.Iter(); it.Next(); {
			_ = it.Value()
		}
	}
}

func BenchmarkCompareValues(b *testing.B) {
	for _, bm := range []struct {
		name string
		a, b bsonx.Value
	}{
		{"int32", bsonx.Int32(1), bsonx.Int32(2)},
		{"int32 and double", bsonx.Int32(1), bsonx.Double(2)},
		{"string", bsonx.String("a string of some length"), bsonx.String("a string of some other length")},
		{"objectId", bsonx.ObjectID([12]byte{1}), bsonx.ObjectID([12]byte{1})},
		{"document", bsonx.Document(benchDoc()), bsonx.Document(benchDoc())},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bsonx.CompareValues(bm.a, bm.b)
			}
		})
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	d := bsonx.NewDoc("a", 1, "ab", 2, "", 3, "x", bsonx.NewDoc("y", bsonx.NewDoc("z", 4)), "a", 5, "a.b", 6,
		"é", 7, "arr", bsonx.NewArray(8, 9))
	for name, want := range map[string]any{"a": 1, "ab": 2, "": 3, "a.b": 6, "é": 7} {
		if got := d.Lookup(name); bsonx.CompareValues(got, bsonx.ValueOf(want)) != 0 || got.IsMissing() {
			t.Errorf("%q: %s", name, bsonx.FormatShell(got))
		}
	}
	for _, name := range []string{
		"b", "abc", "aa", "a\x00", "\x00",
		"long name that is longer than the whole document could be",
	} {
		if got := d.Lookup(name); !got.IsMissing() {
			t.Errorf("%q: %s", name, bsonx.FormatShell(got))
		}
	}
	if got := d.LookupPath("x", "y", "z"); got.Int32() != 4 {
		t.Error("path")
	}
	for _, path := range [][]string{{"x", "z"}, {"a", "b"}, {"arr", "0"}, {"x", "y", "z", "w"}} {
		if !d.LookupPath(path...).IsMissing() {
			t.Errorf("%q", path)
		}
	}
	if d.Len() != 8 || d.Index(1).Int32() != 2 || !d.Index(8).IsMissing() || string(d.First().Key) != "a" {
		t.Error("Len, Index or First")
	}
	if got := d.Lookup("arr").Doc().Values(); len(got) != 2 || got[1].Int32() != 9 {
		t.Error("Values")
	}
	for _, empty := range []bsonx.Doc{nil, bsonx.Empty} {
		if !empty.Lookup("a").IsMissing() || empty.Len() != 0 || !empty.IsEmpty() || !empty.First().Value.IsMissing() {
			t.Error("empty document")
		}
	}
}

// TestIterAndLookupAgree requires the same values from Iter and Lookup, for random documents with
// all types.
func TestIterAndLookupAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := bsonxtest.Doc(2).Draw(t, "doc")
		if err := bsonx.Validate(d, bsonx.Limits{}); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for it := d.Iter(); it.Next(); {
			if name := string(it.Key()); !seen[name] {
				seen[name] = true
				if got := d.Lookup(name); !got.Identical(it.Value()) {
					t.Fatalf("%q: %s", name, bsonx.FormatShell(got))
				}
			}
		}
	})
}

func TestBuilder(t *testing.T) {
	t.Parallel()
	b := bsonx.NewBuilder([]byte("before"))
	b.StartDoc()
	b.StartArrayField("a")
	for i := range 12 {
		b.Elem(bsonx.Int32(int32(i)))
	}
	b.StartDocElem()
	b.Value("missing", bsonx.Missing)
	b.ValueBytes([]byte("missing"), bsonx.Missing)
	b.End()
	b.StartArrayElem()
	b.Elem(bsonx.Missing)
	b.End()
	b.End()
	if b.Depth() != 1 {
		t.Errorf("depth %d", b.Depth())
	}
	b.StartDocField("d")
	b.Fields(bsonx.NewDoc("x", true, "y", nil))
	b.Fields(bsonx.Empty)
	b.Fields(nil)
	b.End()
	b.End()
	d := bsonx.Doc(bytes.TrimPrefix(b.Bytes(), []byte("before")))
	if err := bsonx.Validate(d, bsonx.Limits{}); err != nil {
		t.Fatal(err)
	}
	want := "{ a: [ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, {}, [ null ] ], d: { x: true, y: null } }"
	if got := bsonx.FormatShell(bsonx.Document(d)); got != want {
		t.Errorf("got %s", got)
	}
	if key := d.Lookup("a").Doc().Lookup("13"); key.Type != bsonx.TypeArray {
		t.Error("array keys")
	}
}

// TestBuilderDepth nests documents more deeply than the preallocated frames of the builder and
// closes them, twice.
func TestBuilderDepth(t *testing.T) {
	t.Parallel()
	b := bsonx.NewBuilder(nil)
	for range 2 {
		b.Reset(nil)
		b.StartDoc()
		want := nest(b, 9)
		b.End()
		if got := bsonx.Doc(b.Bytes()); !bytes.Equal(got, want) || b.Depth() != 0 {
			t.Fatalf("depth %d: %s, not %s", b.Depth(), bsonx.FormatShell(bsonx.Document(got)),
				bsonx.FormatShell(bsonx.Document(want)))
		}
	}
}

// nest adds fields to the open document, and returns the expected document.
func nest(b *bsonx.Builder, depth int) bsonx.Doc {
	n := bsonx.Int32(int32(depth))
	if depth == 0 {
		b.Value("n", n)
		return bsonx.NewDoc("n", n)
	}
	b.StartArrayField("a")
	b.Elem(n)
	b.StartDocElem()
	inner := nest(b, depth-1)
	b.End()
	b.Elem(n)
	b.End()
	b.Value("n", n)
	return bsonx.NewDoc("a", []bsonx.Value{n, bsonx.Document(inner), n}, "n", n)
}

func TestTruthy(t *testing.T) {
	t.Parallel()
	dec := func(s string) bsonx.Value { v, _ := bsonx.ParseDecimal(s); return v }
	for _, v := range []bsonx.Value{
		bsonx.Missing, bsonx.Null, bsonx.Undefined, bsonx.False, bsonx.Int32(0), bsonx.Int64(0), bsonx.Double(0),
		bsonx.Double(math.Copysign(0, -1)), dec("0"), dec("-0.00"),
	} {
		if v.Truthy() {
			t.Errorf("%s %s is true", v.Type, bsonx.FormatShell(v))
		}
	}
	for _, v := range []bsonx.Value{
		bsonx.True, bsonx.Int32(1), bsonx.Int64(-1), bsonx.Double(math.NaN()),
		bsonx.Double(5e-324), dec("NaN"), dec("1E-6176"),
		bsonx.String(""), bsonx.Document(bsonx.Empty), bsonx.NewArray(), bsonx.Date(0), bsonx.MinKey,
	} {
		if !v.Truthy() {
			t.Errorf("%s %s is false", v.Type, bsonx.FormatShell(v))
		}
	}
}

func TestAsInt64(t *testing.T) {
	t.Parallel()
	dec := func(s string) bsonx.Value { v, _ := bsonx.ParseDecimal(s); return v }
	for _, tc := range []struct {
		v         bsonx.Value
		want      int64
		ok, exact bool
	}{
		{bsonx.Int32(-7), -7, true, true},
		{bsonx.Int64(math.MinInt64), math.MinInt64, true, true},
		{bsonx.Double(2.9), 2, true, false},
		{bsonx.Double(-2.9), -2, true, false},
		{bsonx.Double(-0x1p63), math.MinInt64, true, true},
		{bsonx.Double(0x1p63), 0, false, false},
		{bsonx.Double(math.NaN()), 0, false, false},
		{bsonx.Double(math.Inf(-1)), 0, false, false},
		{dec("1.50"), 1, true, false},
		{dec("1.00"), 1, true, true},
		{dec("9223372036854775807.9"), math.MaxInt64, true, false},
		{dec("9223372036854775808"), 0, false, false},
		{dec("-9223372036854775808"), math.MinInt64, true, true},
		{dec("1E-30"), 0, true, false},
		{dec("Infinity"), 0, false, false},
		{bsonx.String("1"), 0, false, false},
		{bsonx.Missing, 0, false, false},
	} {
		got, ok := tc.v.AsInt64()
		if ok != tc.ok || ok && got != tc.want {
			t.Errorf("AsInt64 of %s: %d %v", bsonx.FormatShell(tc.v), got, ok)
		}
		got, ok = tc.v.AsExactInt64()
		if ok != tc.exact || ok && got != tc.want {
			t.Errorf("AsExactInt64 of %s: %d %v", bsonx.FormatShell(tc.v), got, ok)
		}
	}
}

func TestRoundInt64(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0.5": 0, "1.5": 2, "2.5": 2, "1.49": 1, "1.9": 2, "-0.5": 0, "-0.9": -1, "-1.5": -2,
		"-2.5": -2, "7": 7, "1E2": 100,
		"1.500000000000000000000000000000001": 2, "0.4999999999999999999999999999999999": 0, "9E-40": 0, "9E-35": 0,
		"9223372036854775807.4": math.MaxInt64, "-9223372036854775808.5": math.MinInt64,
	} {
		v, err := bsonx.ParseDecimal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := v.RoundInt64(); !ok || got != want {
			t.Errorf("%s: %d %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"9223372036854775807.5", "-9223372036854775808.6", "NaN", "Infinity", "1E30"} {
		v, _ := bsonx.ParseDecimal(text)
		if got, ok := v.RoundInt64(); ok {
			t.Errorf("%s: %d", text, got)
		}
	}
	for v, want := range map[float64]int64{1.9: 1, -1.9: -1, 2: 2} {
		if got, ok := bsonx.Double(v).RoundInt64(); !ok || got != want {
			t.Errorf("%v: %d %v", v, got, ok)
		}
	}
}

func TestArrayIndex(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int{"0": 0, "7": 7, "10": 10, "123456789": 123456789} {
		if got, ok := bsonx.ArrayIndex(key); !ok || got != want {
			t.Errorf("%q: %d %v", key, got, ok)
		}
	}
	for _, key := range []string{"", "01", "00", "-1", "+1", "1a", "a", "1234567890", " 1"} {
		if got, ok := bsonx.ArrayIndex(key); ok {
			t.Errorf("%q: %d", key, got)
		}
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	for i := range 256 {
		typ := bsonx.Type(i)
		got, ok := bsonx.TypeByAlias(typ.String())
		if known := ok && got == typ; !known && typ != bsonx.TypeMissing && typ.String()[:4] != "type" {
			t.Errorf("%d: %s", i, typ)
		}
	}
}

// TestCompareOrder compares values of all type classes, several per class, and requires MongoDB's
// sort order.
func TestCompareOrder(t *testing.T) {
	t.Parallel()
	dec := func(s string) bsonx.Value { v, _ := bsonx.ParseDecimal(s); return v }
	order := []bsonx.Value{
		bsonx.MinKey, bsonx.Undefined, bsonx.Null,
		bsonx.Double(math.NaN()), dec("-Infinity"), bsonx.Double(-1e300), bsonx.Int64(math.MinInt64),
		bsonx.Int32(-1), bsonx.Int32(0),
		dec("1E-6176"), dec("0.1"), bsonx.Double(0.1), bsonx.Int32(1), bsonx.Double(1.5), bsonx.Int64(math.MaxInt64),
		bsonx.Double(0x1p63), dec("1E+6000"), bsonx.Double(math.Inf(1)),
		bsonx.String(""), bsonx.String("\x00"), bsonxtest.Symbol("A"), bsonx.String("a"),
		bsonx.String("a\x00"), bsonx.String("aa"),
		bsonx.Document(bsonx.Empty), bsonx.Document(bsonx.NewDoc("b", nil)), bsonx.Document(bsonx.NewDoc("a", 1)),
		bsonx.Document(bsonx.NewDoc("a", 1, "b", 1)), bsonx.Document(bsonx.NewDoc("b", 0)),
		bsonx.Document(bsonx.NewDoc("a", "x")),
		bsonx.NewArray(), bsonx.NewArray(1), bsonx.NewArray(1, 1), bsonx.NewArray("a"),
		bsonx.Binary(9, []byte{9}), bsonx.Binary(0, []byte{0, 0}), bsonx.Binary(1, []byte{0, 0}),
		bsonx.Binary(1, []byte{0, 1}),
		bsonx.ObjectID([12]byte{}), bsonx.ObjectID([12]byte{1}),
		bsonx.False, bsonx.True, bsonx.Date(-1), bsonx.Date(0), bsonx.Timestamp(0, 5),
		bsonx.Timestamp(1, 0), bsonx.Timestamp(1<<31, 0),
		bsonx.Regex("a", ""), bsonx.Regex("a", "i"), bsonx.Regex("b", ""),
		bsonxtest.DBPointer("z", [12]byte{}), bsonxtest.DBPointer("aa", [12]byte{}), bsonxtest.Code("a"),
		bsonxtest.CodeWithScope("a", bsonx.Empty),
		bsonx.MaxKey,
	}
	for i, a := range order {
		for j, b := range order {
			got := bsonx.CompareValues(a, b)
			if got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%s ? %s: %d", bsonx.FormatShell(a), bsonx.FormatShell(b), got)
			}
		}
	}
	if bsonx.CompareValues(bsonx.Missing, bsonx.Null) != 0 ||
		bsonx.CompareValues(bsonx.Double(math.Copysign(0, -1)), bsonx.Int32(0)) != 0 {
		t.Error("equal values")
	}
}
