package bsonx_test

import (
	"cmp"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

// exactly returns the number as a fraction. For NaN and infinities, rank is their position relative
// to all fractions.
func exactly(v bsonx.Value) (r *big.Rat, rank int) {
	switch v.Type {
	case bsonx.TypeDouble:
		f := v.Double()
		switch {
		case math.IsNaN(f):
			return nil, -2
		case math.IsInf(f, 0):
			return nil, cmp.Compare(f, 0)
		}
		return new(big.Rat).SetFloat64(f), 0
	case bsonx.TypeDecimal128:
		d := v.Decimal()
		sign := 1
		if d.Neg {
			sign = -1
		}
		switch d.Kind {
		case bsonx.DecimalNaN:
			return nil, -2
		case bsonx.DecimalInf:
			return nil, sign
		case bsonx.DecimalFinite:
		}
		n, _ := new(big.Int).SetString(string(d.AppendDigits(nil)), 10)
		if d.Neg {
			n.Neg(n)
		}
		scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(d.Exp, -d.Exp))), nil)
		if d.Exp < 0 {
			return new(big.Rat).SetFrac(n, scale), 0
		}
		return new(big.Rat).SetInt(n.Mul(n, scale)), 0
	default:
		i, _ := v.AsInt64()
		return new(big.Rat).SetInt64(i), 0
	}
}

func TestNumbersCompareExactly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := bsonxtest.Number().Draw(t, "a")
		b := bsonxtest.Number().Draw(t, "b")
		ra, ka := exactly(a)
		rb, kb := exactly(b)
		want := cmp.Compare(ka, kb)
		if want == 0 && ra != nil && rb != nil {
			want = ra.Cmp(rb)
		}
		if got := bsonx.CompareValues(a, b); got != want {
			t.Fatalf("%s ? %s: got %d, want %d", bsonx.FormatShell(a), bsonx.FormatShell(b), got, want)
		}
	})
}

func TestDecimalConversions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := bsonxtest.Decimal().Draw(t, "v")
		r, rank := exactly(v)
		f, _ := v.AsFloat64()
		if rank != 0 {
			if math.IsNaN(f) != (rank == -2) || math.IsInf(f, rank) != (rank > -2) {
				t.Fatalf("float64 %v", f)
			}
			if _, ok := v.AsInt64(); ok {
				t.Fatal("an int64 of no finite number")
			}
			return
		}
		want, _ := r.Float64()
		if f != want {
			t.Fatalf("float64 %v, want %v", f, want)
		}
		whole := new(big.Int).Quo(r.Num(), r.Denom())
		i, ok := v.AsInt64()
		if ok != whole.IsInt64() || ok && i != whole.Int64() {
			t.Fatalf("int64 %d %v, want %s", i, ok, whole)
		}
		back, err := bsonx.ParseDecimal(bsonx.FormatDecimal(v))
		if err != nil || back.Decimal() != v.Decimal() {
			t.Fatalf("%s reads as %s", bsonx.FormatDecimal(v), bsonx.FormatDecimal(back))
		}
		d, abs := v.Decimal(), new(big.Rat).Abs(r)
		tf, exact := d.TruncFloat64()
		if c := new(big.Rat).SetFloat64(tf).Cmp(abs); c > 0 || exact != (c == 0) {
			t.Fatalf("truncated to %v %v", tf, exact)
		}
	})
}

func TestParseDecimal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0": "0", "-0": "-0", "0.00": "0.00", "+1": "1", ".5": "0.5", "5.": "5", "1e3": "1E+3", "1E-3": "0.001",
		"0.000001": "0.000001", "0.0000001": "1E-7", "00012.50": "12.50", "inf": "Infinity", "-INFINITY": "-Infinity",
		"nan": "NaN", "-nan": "NaN", "123E+4": "1.23E+6", "0e999999999999": "0E+6111", "0e-99999": "0E-6176",
		"1e6144": "1.000000000000000000000000000000000E+6144", "1e6145": "Infinity",
		"-1e99999999999999999999": "-Infinity",
		"1e-6176":                 "1E-6176", "1e-6177": "0E-6176", "5e-6177": "0E-6176", "6e-6177": "1E-6176", "15e-6177": "2E-6176",
		"1e-99999999999999999999":              "0E-6176",
		"12345678901234567890123456789012345":  "1.234567890123456789012345678901234E+34",
		"12345678901234567890123456789012355":  "1.234567890123456789012345678901236E+34",
		"123456789012345678901234567890123451": "1.234567890123456789012345678901235E+35",
		"99999999999999999999999999999999995":  "1.000000000000000000000000000000000E+35",
		"99999999999999999999999999999999994":  "9.999999999999999999999999999999999E+34",
	} {
		v, err := bsonx.ParseDecimal(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got := bsonx.FormatDecimal(v); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{
		"", "-", ".", "e5", "1e", "1e+", "1e+-5", "1..2", "1 ", " 1", "0x10",
		"1_000", "infinit", "--1", "1e5.0",
	} {
		if v, err := bsonx.ParseDecimal(in); err == nil {
			t.Errorf("%q reads as %s", in, bsonx.FormatDecimal(v))
		}
	}
}

func BenchmarkCompareDecimal(b *testing.B) {
	x, _ := bsonx.ParseDecimal("19.99")
	y, _ := bsonx.ParseDecimal("19.990001")
	for _, other := range []struct {
		name string
		v    bsonx.Value
	}{
		{"decimal", y},
		{"int32", bsonx.Int32(20)},
		{"double", bsonx.Double(19.5)},
		{"close double", bsonx.Double(19.99)},
	} {
		b.Run(other.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bsonx.CompareValues(x, other.v)
			}
		})
	}
}
