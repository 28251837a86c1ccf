package numeric

import (
	"math"
	"strconv"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// dec parses a decimal.
func dec(t testing.TB, s string) bsonx.Value {
	t.Helper()
	v, err := bsonx.ParseDecimal(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// show returns a value as text with its type.
func show(v bsonx.Value) string {
	if v.Type == bsonx.TypeDouble {
		return v.Type.String() + " " + strconv.FormatFloat(v.Double(), 'g', -1, 64)
	}
	return v.Type.String() + " " + Format(v)
}

func check(t *testing.T, name, want string, got bsonx.Value, err error) {
	t.Helper()
	text := ""
	if err != nil {
		text = "error " + mongoerr.CodeOf(err).Name()
	} else {
		text = show(got)
	}
	if text != want {
		t.Errorf("%s: got %s, want %s", name, text, want)
	}
}

func TestIncAndMul(t *testing.T) {
	t.Parallel()
	i32, i64, dbl := bsonx.Int32, bsonx.Int64, bsonx.Double
	cases := []struct {
		name string
		op   func(a, b bsonx.Value) (bsonx.Value, error)
		a, b bsonx.Value
		want string
	}{
		{"int", Inc, i32(1), i32(2), "int 3"},
		{"int widens", Inc, i32(math.MaxInt32), i32(1), "long 2147483648"},
		{"int widens down", Inc, i32(math.MinInt32), i32(-1), "long -2147483649"},
		{"long stays", Inc, i64(1), i32(-1), "long 0"},
		{"long overflows", Inc, i64(math.MaxInt64), i32(1), "error BadValue"},
		{"long min and max", Inc, i64(math.MinInt64), i64(math.MaxInt64), "long -1"},
		{"double", Inc, i64(1), dbl(0.5), "double 1.5"},
		{"not a number", Inc, bsonx.String("x"), i32(1), "error TypeMismatch"},
		{"decimal of double", Inc, dbl(0.5), dec(t, "1"), "decimal 1.500000000000000"},
		{"decimal of whole double", Inc, dbl(1), dec(t, "0.50"), "decimal 1.50000000000000"},
		{"decimal of large double", Inc, dbl(123456789012345678), dec(t, "0"), "decimal 123456789012346000"},
		{"decimal of tiny double", Inc, dbl(5e-324), dec(t, "0"), "decimal 4.94065645841247E-324"},
		{"decimal of huge double", Inc, dbl(1e300), dec(t, "0"), "decimal 1.000000000000000000000000000000000E+300"},
		{"decimal of zero", Inc, dbl(0), dec(t, "0"), "decimal 0"},
		{"decimal quantum", Inc, dec(t, "1.0"), dec(t, "1.00"), "decimal 2.00"},
		{
			"decimal 34 digits", Inc, dec(t, "9999999999999999999999999999999999"), dec(t, "1"),
			"decimal 1.000000000000000000000000000000000E+34",
		},
		{
			"decimal half even", Inc, dec(t, "1000000000000000000000000000000000"), dec(t, "0.5"),
			"decimal 1000000000000000000000000000000000",
		},
		{"decimal infinity", Inc, dec(t, "Infinity"), dec(t, "-Infinity"), "decimal NaN"},
		{
			"decimal overflow", Inc, dec(t, "9.999999999999999999999999999999999E+6144"),
			dec(t, "9E+6144"), "decimal Infinity",
		},
		{"mul int", IncMul, i32(3), i32(-2), "int -6"},
		{"mul widens", IncMul, i32(math.MaxInt32), i32(2), "long 4294967294"},
		{"mul overflows", IncMul, i64(math.MinInt64), i32(-1), "error BadValue"},
		{"mul decimal", IncMul, dec(t, "1.50"), dec(t, "2.0"), "decimal 3.000"},
		{"mul decimal underflow", IncMul, dec(t, "1E-6176"), dec(t, "0.1"), "decimal 0E-6176"},
		{"mul zero keeps sign", IncMul, i32(0), dec(t, "-1.50"), "decimal -0.00"},
		{"mul clamps", IncMul, dec(t, "1E+6111"), dec(t, "1E+10"), "decimal 1.0000000000E+6121"},
	}
	for _, c := range cases {
		got, err := c.op(c.a, c.b)
		check(t, c.name, c.want, got, err)
	}
}

func TestAggregationRules(t *testing.T) {
	t.Parallel()
	i32, i64, dbl := bsonx.Int32, bsonx.Int64, bsonx.Double
	cases := []struct {
		name string
		op   func(a, b bsonx.Value) (bsonx.Value, error)
		a, b bsonx.Value
		want string
	}{
		{"add", Add, i32(1), i32(2), "int 3"},
		{"add widens", Add, i32(math.MaxInt32), i32(1), "long 2147483648"},
		{"add overflows to double", Add, i64(math.MaxInt64), i64(1), "double 9.223372036854776e+18"},
		{"add keeps long", Add, i64(1), i32(2), "long 3"},
		{"add exact long", Add, i64(9007199254740993), i64(0), "long 9007199254740993"},
		{"add infinity", Add, dbl(math.Inf(1)), dbl(1), "double +Inf"},
		{"add infinities", Add, dbl(math.Inf(1)), dbl(math.Inf(-1)), "double NaN"},
		{"add decimal and double", Add, dbl(0.1), dec(t, "1"), "decimal 1.100000000000000"},
		{"subtract overflows", Subtract, i64(math.MinInt64), i32(1), "double -9.223372036854776e+18"},
		{"subtract", Subtract, i32(1), i64(2), "long -1"},
		{"multiply overflows", Multiply, i64(math.MaxInt64), i32(2), "double 1.8446744073709552e+19"},
		{"divide", Divide, i32(6), i32(4), "double 1.5"},
		{"divide by zero", Divide, i32(6), dbl(0), "error BadValue"},
		{"divide decimal", Divide, dec(t, "1"), dec(t, "3"), "decimal 0.3333333333333333333333333333333333"},
		{"divide decimal exact", Divide, dec(t, "6"), i32(4), "decimal 1.5"},
		{"divide decimal whole", Divide, dec(t, "10"), i32(5), "decimal 2"},
		{"mod", Mod, i32(-7), i32(3), "int -1"},
		{"mod long", Mod, i64(7), i32(3), "long 1"},
		{"mod min", Mod, i64(math.MinInt64), i64(-1), "long 0"},
		{"mod double", Mod, dbl(7.5), i32(2), "double 1.5"},
		{"mod whole double", Mod, i32(7), dbl(4), "double 3"},
		{"mod zero", Mod, i32(7), i32(0), "error Location16610"},
		{"mod decimal", Mod, dec(t, "7.5"), i32(2), "decimal 1.5"},
		{"mod decimal large quotient", Mod, dec(t, "1E+100"), i32(7), "decimal 4"},
		{"pow", Pow, i32(2), i32(10), "int 1024"},
		{"pow widens", Pow, i32(2), i32(40), "long 1099511627776"},
		{"pow overflows", Pow, i32(2), i32(64), "double 1.8446744073709552e+19"},
		{"pow negative", Pow, i32(2), i32(-1), "double 0.5"},
		{"pow of minus one", Pow, i32(-1), i32(-3), "int -1"},
		{"pow zero", Pow, i32(0), i32(-1), "error Location28764"},
		{"log", Log, i32(8), i32(2), "double 3"},
		{"log base one", Log, i32(8), i32(1), "error Location28759"},
	}
	for _, c := range cases {
		got, err := c.op(c.a, c.b)
		check(t, c.name, c.want, got, err)
	}
}

func TestRounding(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		op    func(v bsonx.Value, place int) (bsonx.Value, error)
		v     bsonx.Value
		place int
		want  string
	}{
		{"half even down", Round, bsonx.Double(2.5), 0, "double 2"},
		{"half even up", Round, bsonx.Double(3.5), 0, "double 4"},
		{"places", Round, bsonx.Double(1.2345), 2, "double 1.23"},
		{"negative place", Round, bsonx.Int32(1250), -2, "int 1200"},
		{"int grows", Round, bsonx.Int32(math.MaxInt32), -9, "int 2000000000"},
		{"int to long", Round, bsonx.Int32(math.MaxInt32), -10, "int 0"},
		{"long overflows", Round, bsonx.Int64(math.MaxInt64), -1, "error Location51080"},
		{"decimal", Round, dec(t, "1.235"), 2, "decimal 1.24"},
		{"decimal gets zeros", Round, dec(t, "1.2"), 5, "decimal 1.20000"},
		{"decimal has room for some zeros", Trunc, dec(t, "1E+30"), 10, "decimal 1000000000000000000000000000000.000"},
		{"decimal hundreds", Round, dec(t, "1250"), -2, "decimal 1.2E+3"},
		{"trunc", Trunc, bsonx.Double(-1.99), 1, "double -1.9"},
		{"trunc decimal", Trunc, dec(t, "-1.99"), 0, "decimal -1"},
		{"trunc long", Trunc, bsonx.Int64(199), -2, "long 100"},
		{"infinity", Round, bsonx.Double(math.Inf(1)), 2, "double +Inf"},
	}
	for _, c := range cases {
		got, err := c.op(c.v, c.place)
		check(t, c.name, c.want, got, err)
	}
}

func TestFunctions(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		op   func(v bsonx.Value) (bsonx.Value, error)
		v    bsonx.Value
		want string
	}{
		{"abs", inNoArena(AbsIn), bsonx.Int32(-5), "int 5"},
		{"abs int min", inNoArena(AbsIn), bsonx.Int32(math.MinInt32), "long 2147483648"},
		{"abs long min", inNoArena(AbsIn), bsonx.Int64(math.MinInt64), "error Location28680"},
		{"abs decimal", inNoArena(AbsIn), dec(t, "-1.50"), "decimal 1.50"},
		{"ceil", inNoArena(CeilIn), bsonx.Double(1.2), "double 2"},
		{"ceil decimal", inNoArena(CeilIn), dec(t, "-1.2"), "decimal -1"},
		{"floor decimal", inNoArena(FloorIn), dec(t, "-1.2"), "decimal -2"},
		{"floor long", inNoArena(FloorIn), bsonx.Int64(3), "long 3"},
		{"sqrt", Sqrt, bsonx.Int32(16), "double 4"},
		{"sqrt decimal", Sqrt, dec(t, "4"), "decimal 2"},
		{"sqrt negative", Sqrt, bsonx.Int32(-1), "error Location28714"},
		{"ln zero", Ln, bsonx.Int32(0), "error Location28766"},
		{"log10", Log10, bsonx.Int32(1000), "double 3"},
		{"log10 decimal", Log10, dec(t, "1000"), "decimal 3"},
		{"exp decimal", Exp, dec(t, "0"), "decimal 1"},
		{"exp", Exp, bsonx.Int32(0), "double 1"},
		{"to int", ToInt32, bsonx.Double(-1.9), "int -1"},
		{"to int overflow", ToInt32, bsonx.Int64(1 << 40), "error ConversionFailure"},
		{"to long nan", ToInt64, bsonx.Double(math.NaN()), "error ConversionFailure"},
		{"to long infinity", ToInt64, dec(t, "Infinity"), "error ConversionFailure"},
		{"to double", ToDouble, dec(t, "1.5"), "double 1.5"},
		{"to double overflow", ToDouble, dec(t, "1E+1000"), "error ConversionFailure"},
		{"to decimal", ToDecimal, bsonx.Double(0.1), "decimal 0.100000000000000"},
		{"not a number", ToDecimal, bsonx.String("x"), "error TypeMismatch"},
		{"bit not", BitNot, bsonx.Int32(5), "int -6"},
		{"bit not double", BitNot, bsonx.Double(5), "error TypeMismatch"},
	}
	for _, c := range cases {
		got, err := c.op(c.v)
		check(t, c.name, c.want, got, err)
	}
}

func TestBit(t *testing.T) {
	t.Parallel()
	got, err := Bit(And, bsonx.Int32(13), bsonx.Int32(10))
	check(t, "and", "int 8", got, err)
	got, err = Bit(Or, bsonx.Int32(1), bsonx.Int64(1<<32))
	check(t, "or", "long 4294967297", got, err)
	got, err = Bit(Xor, bsonx.Int64(-1), bsonx.Int32(-1))
	check(t, "xor sign-extends", "long 0", got, err)
	got, err = Bit(Xor, bsonx.Double(1), bsonx.Int32(-1))
	check(t, "double", "error TypeMismatch", got, err)
}

func TestSum(t *testing.T) {
	t.Parallel()
	sum := func(values ...bsonx.Value) bsonx.Value {
		var s Sum
		for _, v := range values {
			s.Add(v)
		}
		return s.Result()
	}
	i64, dbl := bsonx.Int64, bsonx.Double
	check(t, "empty", "int 0", sum(), nil)
	check(t, "ignores", "int 1", sum(bsonx.String("x"), bsonx.Int32(1), bsonx.Null), nil)
	check(t, "what the last addition lost does not count", "double 0", sum(dbl(1e16), dbl(1), dbl(-1e16)), nil)
	check(t, "what earlier ones lost does", "double 1", sum(dbl(1e16), dbl(1), dbl(-1e16), dbl(0)), nil)
	check(t, "decimals behind the rest", "decimal 10.10000000000000000555111512312578",
		sum(dec(t, "2"), i64(1), dbl(0.1), dec(t, "2"), i64(5)), nil)
	check(t, "tenths", "double 0.6", sum(dbl(0.1), dbl(0.2), dbl(0.3)), nil)
	check(t, "beyond long and back", "long 9223372036854775807", sum(i64(math.MaxInt64), i64(5), i64(-5)), nil)
	check(t, "beyond long", "double 9.223372036854776e+18", sum(i64(math.MaxInt64), i64(5)), nil)
	check(t, "least long", "long -9223372036854775808", sum(i64(math.MinInt64)), nil)
	check(t, "overflow of finite doubles", "double +Inf", sum(dbl(math.MaxFloat64), dbl(math.MaxFloat64)), nil)

	for _, v := range []bsonx.Value{i64(math.MaxInt64), dbl(0.1), dbl(math.Inf(-1)), dec(t, "0.1")} {
		var whole, part, merged Sum
		for _, s := range []*Sum{&whole, &part} {
			s.Add(bsonx.Int32(7))
			s.Add(v)
		}
		whole.Add(v)
		merged.Add(v)
		merged.Merge(part.State())
		if !Identical(merged.Result(), whole.Result()) {
			t.Errorf("merged %v, whole %v", merged.Result(), whole.Result())
		}
	}

	var s Sum
	s.Add(dec(t, "1"))
	s.Add(bsonx.Int32(1))
	check(t, "average", "decimal 0.6666666666666666666666666666666667", s.Average(3), nil)
}

func BenchmarkIncInt32(b *testing.B) {
	x, y := bsonx.Int32(1), bsonx.Int32(2)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Inc(x, y); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIncDecimal(b *testing.B) {
	x, y := dec(b, "1.50"), dec(b, "2.25")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Inc(x, y); err != nil {
			b.Fatal(err)
		}
	}
}

// inNoArena is op with a result of its own.
func inNoArena(op func(*bsonx.Arena, bsonx.Value) (bsonx.Value, error)) func(bsonx.Value) (bsonx.Value, error) {
	return func(v bsonx.Value) (bsonx.Value, error) { return op(nil, v) }
}

// TestLargeAngles compares with the values of a C library, which rounds correctly.
func TestLargeAngles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ angle, sin, cos, tan float64 }{
		{1e22, -0.8522008497671888, 0.523214785395139, -1.6287782256068988},
		{1 << 63, 0.9999303766734422, 0.011800076512800236, 84.73931296875567},
		{-(1 << 63), -0.9999303766734422, 0.011800076512800236, -84.73931296875567},
		{math.MaxFloat64, 0.004961954789184062, -0.9999876894265599, -0.004962015874444895},
	} {
		s, co, tan := SinDouble(c.angle), CosDouble(c.angle), TanDouble(c.angle)
		if s != c.sin || co != c.cos || tan != c.tan {
			t.Errorf("%v: sine %v, cosine %v, tangent %v", c.angle, s, co, tan)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if !math.IsNaN(SinDouble(f)) || !math.IsNaN(CosDouble(f)) || !math.IsNaN(TanDouble(f)) {
			t.Errorf("%v has an angle", f)
		}
	}
}
