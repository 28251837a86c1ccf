package bsonxtest

import (
	"math"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Names lists the field names of generated documents.
var Names = []string{"a", "b", "ab", "", "é"}

// Int64 generates integers, with a preference for numbers near powers of two and ten.
func Int64() *rapid.Generator[int64] {
	return rapid.Custom(func(t *rapid.T) int64 {
		near := rapid.Int64Range(-3, 3).Draw(t, "near")
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return near
		case 1:
			return int64(1)<<rapid.IntRange(0, 63).Draw(t, "bit") + near
		case 2:
			return -(int64(1)<<rapid.IntRange(0, 63).Draw(t, "bit") + near)
		case 3:
			n := int64(1)
			for range rapid.IntRange(0, 18).Draw(t, "zeros") {
				n *= 10
			}
			return n + near
		default:
			return rapid.Int64().Draw(t, "any")
		}
	})
}

// Float64 generates doubles.
func Float64() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.SampledFrom([]float64{
			0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64,
			math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 0.1, 0.5, 1.5, 1e22, 1e23, 0x1p-1022,
			math.Nextafter(1, 0), math.Nextafter(1, 2), 0x1p63, -0x1p63, 0x1p53,
			math.Float64frombits(0x7FF8000000000001),
		}),
		rapid.Map(Int64(), func(i int64) float64 { return float64(i) }),
		rapid.Map(Int64(), func(i int64) float64 { return float64(i) / 64 }),
		rapid.Map(rapid.IntRange(-5000, 5000), func(i int) float64 { return float64(i) / 100 }),
		rapid.Map(rapid.Uint64(), math.Float64frombits),
	)
}

// Decimal generates decimals, including equal values with different exponents, neighbours of
// doubles, and encodings that are not canonical.
func Decimal() *rapid.Generator[bsonx.Value] {
	coefficient := rapid.OneOf(
		rapid.Map(Int64(), func(i int64) [2]uint64 { return [2]uint64{0, uint64(i)} }),
		rapid.Custom(func(t *rapid.T) [2]uint64 {
			return [2]uint64{rapid.Uint64Range(0, 1<<49-1).Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")}
		}),
	)
	exponent := rapid.OneOf(rapid.IntRange(-40, 40), rapid.IntRange(-360, 330),
		rapid.IntRange(-6176, 6111), rapid.Just(0))
	parts := rapid.Custom(func(t *rapid.T) bsonx.Value {
		c := coefficient.Draw(t, "coefficient")
		d := bsonx.Decimal{Neg: rapid.Bool().Draw(t, "neg"), Hi: c[0], Lo: c[1], Exp: exponent.Draw(t, "exp")}
		return d.Value()
	})
	text := rapid.Map(rapid.SampledFrom([]string{
		"0", "-0", "0E+10", "0E-6176", "-0E+6111", "NaN", "Infinity", "-Infinity", "1", "1.0", "1.00", "100", "1E+2",
		"0.1", "0.5", "0.50", "9.999999999999999999999999999999999E+6144", "1E-6176", "-1E-6176",
		"0.1000000000000000055511151231257827", "1E+400", "1E-400", "4.9E-324", "5E-324", "1.7976931348623157E+308",
		"9223372036854775807", "9223372036854775807.5", "9223372036854775808", "-9223372036854775808",
		"-9223372036854775808.000000000001", "9007199254740993", "9007199254740993.5", "0.9999999999999999999999",
		"1.5", "1.500000000000000000001", "1.499999999999999999999999999", "19.99",
	}), func(s string) bsonx.Value {
		v, err := bsonx.ParseDecimal(s)
		if err != nil {
			panic(err)
		}
		return v
	})
	fromDouble := rapid.Map(Float64(), func(f float64) bsonx.Value {
		v, _ := bsonx.ParseDecimal(FormatDouble(f))
		return v
	})
	raw := rapid.Custom(func(t *rapid.T) bsonx.Value {
		return bsonx.Decimal128(rapid.Uint64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo"))
	})
	return rapid.OneOf(parts, text, fromDouble, raw)
}

// Number generates numbers of the four numeric types.
func Number() *rapid.Generator[bsonx.Value] {
	return rapid.OneOf(
		rapid.Map(Int64(), func(i int64) bsonx.Value { return bsonx.Int32(int32(i)) }),
		rapid.Map(Int64(), bsonx.Int64),
		rapid.Map(Float64(), bsonx.Double),
		Decimal(),
	)
}

// Text generates short strings in which the bytes 0 and 1 are frequent.
func Text() *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "b", "\x00", "\x01",
		"\x02", "é", "\U0010FFFF",
	}), 0, 4),
		func(parts []string) string {
			s := ""
			for _, p := range parts {
				s += p
			}
			return s
		})
}

func objectID() *rapid.Generator[[12]byte] {
	return rapid.Custom(func(t *rapid.T) (id [12]byte) {
		id[0] = rapid.SampledFrom([]byte{0, 1, 0xFF}).Draw(t, "first")
		id[11] = rapid.Byte().Draw(t, "last")
		return id
	})
}

// Scalar generates values of all types except documents and arrays.
func Scalar() *rapid.Generator[bsonx.Value] {
	cstring := rapid.SampledFrom([]string{"", "a", "ab", "i", "\x01", "\xff"})
	word := rapid.OneOf(rapid.Uint32(), rapid.Uint32Range(0, 2))
	return rapid.OneOf(
		Number(),
		rapid.Map(Text(), bsonx.String),
		rapid.SampledFrom([]bsonx.Value{
			bsonx.Null, bsonx.Undefined, bsonx.MinKey, bsonx.MaxKey, bsonx.True, bsonx.False,
		}),
		rapid.Map(Text(), Symbol),
		rapid.Map(Text(), Code),
		rapid.Map(Int64(), bsonx.Date),
		rapid.Map(objectID(), bsonx.ObjectID),
		rapid.Custom(func(t *rapid.T) bsonx.Value {
			size := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(253, 257)).Draw(t, "size")
			data := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0xFF}), size, size).Draw(t, "data")
			return bsonx.Binary(rapid.SampledFrom([]byte{0, 4, 0x80}).Draw(t, "subtype"), data)
		}),
		rapid.Custom(func(t *rapid.T) bsonx.Value {
			return bsonx.Timestamp(word.Draw(t, "t"), word.Draw(t, "i"))
		}),
		rapid.Custom(func(t *rapid.T) bsonx.Value {
			return bsonx.Regex(cstring.Draw(t, "pattern"), cstring.Draw(t, "options"))
		}),
		rapid.Custom(func(t *rapid.T) bsonx.Value {
			return DBPointer(cstring.Draw(t, "ns"), objectID().Draw(t, "id"))
		}),
		rapid.Custom(func(t *rapid.T) bsonx.Value {
			return CodeWithScope(Text().Draw(t, "code"), bsonx.NewDoc("x", rapid.IntRange(0, 1).Draw(t, "x")))
		}),
	)
}

// Value generates any value, nested up to depth levels.
func Value(depth int) *rapid.Generator[bsonx.Value] {
	if depth == 0 {
		return Scalar()
	}
	return rapid.OneOf(
		Scalar(),
		rapid.Map(Doc(depth-1), bsonx.Document),
		rapid.Map(rapid.SliceOfN(Value(depth-1), 0, 3),
			func(vs []bsonx.Value) bsonx.Value { return bsonx.ValueOf(vs) }),
	)
}

// Doc generates documents whose values are nested up to depth levels.
func Doc(depth int) *rapid.Generator[bsonx.Doc] {
	return rapid.Custom(func(t *rapid.T) bsonx.Doc {
		b := bsonx.NewBuilder(nil)
		b.StartDoc()
		for range rapid.IntRange(0, 3).Draw(t, "fields") {
			b.Value(rapid.SampledFrom(Names).Draw(t, "name"), Value(depth).Draw(t, "value"))
		}
		b.End()
		return bsonx.Doc(b.Bytes())
	})
}
