package keystring_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/limits"
)

// checkPair checks the invariants of doc.go for two values.
func checkPair(t *rapid.T, a, b bsonx.Value) {
	want := bsonx.CompareValues(a, b)
	for _, desc := range []bool{false, true} {
		ka, kb := keystring.Append(nil, a, desc), keystring.Append(nil, b, desc)
		got := bytes.Compare(ka, kb)
		if desc {
			got = -got
		}
		if got != want {
			t.Fatalf("%s ? %s (desc %v): got %d, want %d\n%x\n%x", bsonx.FormatShell(a),
				bsonx.FormatShell(b), desc, got, want, ka, kb)
		}
		if want != 0 && (bytes.HasPrefix(ka, kb) || bytes.HasPrefix(kb, ka)) {
			t.Fatalf("%s and %s: one encoding is a prefix of the other:\n%x\n%x",
				bsonx.FormatShell(a), bsonx.FormatShell(b), ka, kb)
		}
		if ka[0] == 0 || ka[0] == 0xFF {
			t.Fatalf("%s starts with %x", bsonx.FormatShell(a), ka[0])
		}
	}
}

func TestOrderOfNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkPair(t, bsonxtest.Number().Draw(t, "a"), bsonxtest.Number().Draw(t, "b"))
	})
}

func TestOrderOfScalars(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkPair(t, bsonxtest.Scalar().Draw(t, "a"), bsonxtest.Scalar().Draw(t, "b"))
	})
}

func TestOrderOfNestedValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkPair(t, bsonxtest.Value(3).Draw(t, "a"), bsonxtest.Value(3).Draw(t, "b"))
	})
}

// TestOrderOfNeighbours compares values that differ in one place deep inside.
func TestOrderOfNeighbours(t *testing.T) {
	t.Parallel()
	wrap := func(t *rapid.T, a, b bsonx.Value) (bsonx.Value, bsonx.Value) {
		before, after := bsonxtest.Value(1).Draw(t, "before"), bsonxtest.Value(1).Draw(t, "after")
		if rapid.Bool().Draw(t, "array") {
			return bsonx.NewArray(before, a, after), bsonx.NewArray(before, b, after)
		}
		name := rapid.SampledFrom(bsonxtest.Names)
		na, nb := name.Draw(t, "name of a"), name.Draw(t, "name of b")
		return bsonx.Document(bsonx.NewDoc("x", before, na, a, "y", after)),
			bsonx.Document(bsonx.NewDoc("x", before, nb, b, "y", after))
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := bsonxtest.Scalar().Draw(t, "a"), bsonxtest.Scalar().Draw(t, "b")
		for range rapid.IntRange(1, 3).Draw(t, "levels") {
			a, b = wrap(t, a, b)
		}
		checkPair(t, a, b)
	})
}

// TestRoundTrip encodes several values into one key and gets back their exact types and bytes.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	var bits keystring.TypeBits
	var buf []byte
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(bsonxtest.Value(2), 1, 4).Draw(t, "values")
		desc := rapid.SliceOfN(rapid.Bool(), len(values), len(values)).Draw(t, "desc")
		bits.Reset()
		var key []byte
		for i, v := range values {
			key = keystring.AppendTyped(key, &bits, v, desc[i])
		}
		r := keystring.NewTypeBitsReader(bits.Bytes())
		rest := append(key, 0x7B, 0x33) // the bytes after a key do not matter
		for i, want := range values {
			got, n, out, err := keystring.Decode(buf[:0], rest, desc[i], &r)
			buf = out
			if err != nil {
				t.Fatalf("value %d, %s: %v", i, bsonx.FormatShell(want), err)
			}
			if !got.Identical(want) {
				t.Fatalf("value %d: got %s %x, want %s %x", i, got.Type, got.Data, want.Type, want.Data)
			}
			if skipped, err := keystring.Skip(rest, desc[i]); err != nil || skipped != n {
				t.Fatalf("value %d: decoded %d bytes, skipped %d (%v)", i, n, skipped, err)
			}
			rest = rest[n:]
		}
		if len(rest) != 2 {
			t.Fatalf("%d bytes left", len(rest))
		}
	})
}

// TestTruncatedKeys checks that no proper prefix of an encoding decodes.
func TestTruncatedKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := bsonxtest.Value(2).Draw(t, "v")
		desc := rapid.Bool().Draw(t, "desc")
		key := keystring.Append(nil, v, desc)
		key = key[:rapid.IntRange(0, len(key)-1).Draw(t, "n")]
		if n, err := keystring.Skip(key, desc); err == nil {
			t.Fatalf("skipped %d of %d bytes", n, len(key))
		}
		if _, n, _, err := keystring.Decode(nil, key, desc, nil); err == nil {
			t.Fatalf("decoded %d of %d bytes", n, len(key))
		}
	})
}

func TestDefaultTypes(t *testing.T) {
	t.Parallel()
	for _, v := range []bsonx.Value{
		bsonx.Int32(0), bsonx.Int32(-5), bsonx.Int64(1 << 31), bsonx.Int64(-1 << 63),
		bsonx.Double(0.5), bsonx.Double(1e300),
		bsonx.String("x"), bsonx.Null, bsonx.True, bsonx.NewArray(1, "a", 2.5),
	} {
		var bits keystring.TypeBits
		key := keystring.AppendTyped(nil, &bits, v, false)
		if len(bits.Bytes()) != 0 {
			t.Errorf("%s has type bits %x", bsonx.FormatShell(v), bits.Bytes())
		}
		got, _, _, err := keystring.Decode(nil, key, false, nil)
		if err != nil || !got.Identical(v) {
			t.Errorf("%s decodes as %s, %v", bsonx.FormatShell(v), bsonx.FormatShell(got), err)
		}
	}
}

// TestTypeBitsGaps has long runs of default types between exceptions.
func TestTypeBitsGaps(t *testing.T) {
	t.Parallel()
	for _, gap := range []int{0, 1, 30, 31, 32, 158, 159, 160, 1000} {
		var values []bsonx.Value
		for range 2 {
			for range gap {
				values = append(values, bsonx.Int32(1))
			}
			values = append(values, bsonx.Double(1))
		}
		v := bsonx.ValueOf(values)
		var bits keystring.TypeBits
		key := keystring.AppendTyped(nil, &bits, v, true)
		r := keystring.NewTypeBitsReader(bits.Bytes())
		got, _, _, err := keystring.Decode(nil, key, true, &r)
		if err != nil || !got.Identical(v) {
			t.Errorf("gap %d: %v", gap, err)
		}
	}
}

func TestMissingIsNull(t *testing.T) {
	t.Parallel()
	if a, b := keystring.Append(nil, bsonx.Missing, false), keystring.Append(nil,
		bsonx.Null, false); !bytes.Equal(a, b) {
		t.Errorf("%x and %x", a, b)
	}
}

// TestFormat pins bytes that are on disk.
func TestFormat(t *testing.T) {
	t.Parallel()
	dec := func(s string) bsonx.Value {
		v, err := bsonx.ParseDecimal(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tc := range []struct {
		v         bsonx.Value
		key, bits string
	}{
		{bsonx.MinKey, "0a", ""},
		{bsonx.Undefined, "0f", ""},
		{bsonx.Null, "14", ""},
		{bsonx.Double(math.Float64frombits(0x7FF8000000000000)), "1e", ""},
		{bsonx.Int64(-1 << 63), "1f781f", ""},
		{bsonx.Int32(-1), "27fd", ""},
		{bsonx.Double(-0.5), "28801f", ""},
		{bsonx.Int32(0), "29", ""},
		{bsonx.Int64(0), "29", "01"},
		{dec("0.0"), "29", "04181f"},
		{bsonx.Double(0.5), "2a7fe0", ""},
		{bsonx.Int32(1), "2b02", ""},
		{bsonx.Double(1), "2b02", "02"},
		{dec("1.00"), "2b02", "04181e"},
		{bsonx.Double(1.5), "2b0380", ""},
		{dec("1.1"), "2b0319cd673399cd6733990b00", "04181f"},
		{bsonx.Int32(1000), "2c07d0", ""},
		{bsonx.Int64(1<<63 - 1), "32fffffffffffffffe", ""},
		{bsonx.Double(0x1p63), "3387e0", ""},
		{bsonx.String("a\x00\x01b"), "3c610101010262" + "00", ""},
		{bsonxtest.Symbol("a"), "3c6100", "05"},
		{bsonx.Document(bsonx.NewDoc("a", 1, "b", "x")), "461e61002b023c6200780000", ""},
		{bsonx.NewArray(1, true), "502b026f00", ""},
		{bsonx.Binary(4, []byte{9}), "5a010409", ""},
		{bsonx.ObjectID([12]byte{1}), "64010000000000000000000000", ""},
		{bsonx.False, "6e", ""},
		{bsonx.Date(1), "788000000000000001", ""},
		{bsonx.Timestamp(1, 2), "820000000100000002", ""},
		{bsonx.Regex("a", "i"), "8c61006900", ""},
		{bsonxtest.Code("f"), "a06600", ""},
		{bsonxtest.CodeWithScope("f", bsonx.Empty), "aa660000", ""},
		{bsonx.MaxKey, "f0", ""},
	} {
		var bits keystring.TypeBits
		key := fmt.Sprintf("%x", keystring.AppendTyped(nil, &bits, tc.v, false))
		if got := fmt.Sprintf("%x", bits.Bytes()); key != tc.key || got != tc.bits {
			t.Errorf("%s: %s and %s, want %s and %s", bsonx.FormatShell(tc.v), key, got, tc.key, tc.bits)
		}
	}
}

func TestNestingIsBounded(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte{0x50}, 100_000)
	if _, err := keystring.Skip(key, false); err == nil {
		t.Error("Skip")
	}
	if _, _, _, err := keystring.Decode(nil, key, false, nil); err == nil {
		t.Error("Decode")
	}
	v := bsonx.Document(bsonx.Empty)
	for range limits.DocumentDepth - 1 {
		v = bsonx.NewArray(v)
	}
	got, _, _, err := keystring.Decode(nil, keystring.Append(nil, v, false), false, nil)
	if err != nil || !got.Identical(v) {
		t.Errorf("the deepest valid value: %v", err)
	}
}

func TestSplitTypeBits(t *testing.T) {
	t.Parallel()
	for _, tc := range [][2]string{{"", ""}, {"a", ""}, {"", "b"}, {"ab", "cd"}} {
		joined := keystring.JoinTypeBits(nil, []byte(tc[0]), []byte(tc[1]))
		fields, id, err := keystring.SplitTypeBits(joined)
		if err != nil || string(fields) != tc[0] || string(id) != tc[1] {
			t.Errorf("%q: %q %q %v", tc, fields, id, err)
		}
		if (tc == [2]string{}) != (len(joined) == 0) {
			t.Errorf("%q joins to %x", tc, joined)
		}
	}
	for _, bad := range []string{"\x05a", "\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		if _, _, err := keystring.SplitTypeBits([]byte(bad)); err == nil {
			t.Errorf("%q splits", bad)
		}
	}
}

// FuzzDecode checks that any bytes decode to a valid value or fail, and that Skip agrees on the
// length.
func FuzzDecode(f *testing.F) {
	var bits keystring.TypeBits
	for i := range 200 {
		v := bsonxtest.Value(2).Example(i)
		bits.Reset()
		f.Add(keystring.AppendTyped(nil, &bits, v, i%2 == 0), bytes.Clone(bits.Bytes()), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, key, bits []byte, desc bool) {
		r := keystring.NewTypeBitsReader(bits)
		skipped, skipErr := keystring.Skip(key, desc)
		v, n, _, err := keystring.Decode(nil, key, desc, &r)
		if err != nil {
			return
		}
		if skipErr != nil || skipped != n {
			t.Fatalf("decoded %d bytes, skipped %d: %v", n, skipped, skipErr)
		}
		b := bsonx.NewBuilder(nil)
		b.StartDoc()
		b.Value("v", v)
		b.End()
		// The names and strings of a damaged key need not be UTF-8, and it may be nested a little
		// deeper.
		err = bsonx.Validate(b.Bytes(), bsonx.Limits{})
		if err != nil && cmp.Compare(len(key), limits.DocumentDepth) < 0 {
			t.Fatalf("%x: %v", b.Bytes(), err)
		}
	})
}

func benchmarkAppend(b *testing.B, v bsonx.Value, desc bool) {
	var bits keystring.TypeBits
	buf := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		bits.Reset()
		buf = keystring.AppendTyped(buf[:0], &bits, v, desc)
	}
}

func BenchmarkAppend(b *testing.B) {
	price, _ := bsonx.ParseDecimal("19.99")
	for _, tc := range []struct {
		name string
		v    bsonx.Value
	}{
		{"int32", bsonx.Int32(123456)},
		{"double", bsonx.Double(19.99)},
		{"decimal", price},
		{"objectId", bsonx.ObjectID([12]byte{1, 2, 3})},
		{"string", bsonx.String("a string of some length")},
		{"date", bsonx.Date(1500000000000)},
		{"document", bsonx.Document(bsonx.NewDoc("a", 1, "b", "x"))},
	} {
		b.Run(tc.name, func(b *testing.B) { benchmarkAppend(b, tc.v, false) })
		b.Run(tc.name+" descending", func(b *testing.B) { benchmarkAppend(b, tc.v, true) })
	}
}

func BenchmarkDecode(b *testing.B) {
	price, _ := bsonx.ParseDecimal("19.99")
	for _, v := range []bsonx.Value{
		bsonx.Int32(123456), bsonx.Double(19.99), price,
		bsonx.String("a string of some length"),
	} {
		b.Run(v.Type.String(), func(b *testing.B) {
			var bits keystring.TypeBits
			key := keystring.AppendTyped(nil, &bits, v, false)
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				r := keystring.NewTypeBitsReader(bits.Bytes())
				_, _, buf, _ = keystring.Decode(buf[:0], key, false, &r)
			}
		})
	}
}
