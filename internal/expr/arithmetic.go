package expr

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

const arithmetic = "arithmetic"

var one = bsonx.Int32(1)

func ArithmeticOperators() []Definition {
	return []Definition{
		lazily(opAssociative("$add", arithmetic, assocLeft, add), 1),
		swapped(make2("$subtract", arithmetic, subtract)),
		lazily(opAssociative("$multiply", arithmetic, assocLeft, multiply), 1),
		swapped(make2("$divide", arithmetic, divide)),
		swapped(make2("$mod", arithmetic, mod)),
		function("$abs", numeric.AbsIn), function("$ceil", numeric.CeilIn), function("$floor", numeric.FloorIn),
		function("$sqrt", plain1(numeric.Sqrt)), function("$exp", plain1(numeric.Exp)),
		function("$ln", plain1(numeric.Ln)), function("$log10", plain1(numeric.Log10)),
		op2("$log", arithmetic, logarithm),
		op2("$pow", arithmetic, power),
		atPlace("$round", numeric.RoundIn), atPlace("$trunc", numeric.TruncIn),
		bitwise("$bitAnd", numeric.And, -1), bitwise("$bitOr", numeric.Or, 0), bitwise("$bitXor", numeric.Xor, 0),
		op1("$bitNot", arithmetic, bitNot),
	}
}

// function makes an operator of one number: null stays null, other types are an error.
func function(name string, fn func1) Definition {
	return make1(name, arithmetic, func(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
		if Nullish(v) {
			return bsonx.Null, nil
		}
		if !v.Type.IsNumber() {
			return bsonx.Missing, mongoerr.New(28765, "%s only supports numeric types, not %s", name, v.Type)
		}
		return fn(out, v)
	})
}

// add sums numbers from left to right. One operand may be a date, to which each number behind it is added as a whole one; null
// anywhere makes the result null.
func add(out *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) {
	var sum numeric.Total
	date := bsonx.Missing
	for _, v := range args {
		var err error
		switch {
		case Nullish(v):
			return bsonx.Null, nil
		case v.Type == bsonx.TypeDate && !date.IsMissing():
			return bsonx.Missing, mongoerr.New(16612, "only one date allowed in an $add expression")
		case v.Type == bsonx.TypeDate:
			date, err = shiftDate(out, v.Int64(), sum.Result(), 1)
		case !v.Type.IsNumber():
			return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch, "$add only supports numeric or date types, not %s", v.Type)
		case date.IsMissing():
			sum.Add(v)
		default:
			date, err = shiftDate(out, date.Int64(), v, 1)
		}
		if err != nil {
			return bsonx.Missing, err
		}
	}
	if date.IsMissing() {
		return sum.ResultIn(out), nil
	}
	return date, nil
}

// shiftDate moves a date by milliseconds, in the direction of sign.
func shiftDate(out *bsonx.Arena, millis int64, by bsonx.Value, sign int64) (bsonx.Value, error) {
	delta, ok := roundedInt64(by)
	moved := millis + sign*delta
	if later := (sign > 0) == (delta > 0); !ok || delta != 0 && later != (moved > millis) {
		return bsonx.Missing, mongoerr.New(mongoerr.Overflow, "date overflow")
	}
	return out.Date(moved), nil
}

// roundedInt64 converts a number to an int64. Halves of a double are rounded away from zero, those of a decimal to even.
func roundedInt64(v bsonx.Value) (int64, bool) {
	switch v.Type {
	case bsonx.TypeDouble:
		return bsonx.Double(math.Round(v.Double())).AsInt64()
	case bsonx.TypeDecimal128:
		rounded, err := numeric.Round(v, 0)
		n, ok := rounded.AsInt64()
		return n, ok && err == nil
	default:
		return v.AsInt64()
	}
}

func subtract(out *bsonx.Arena, a, b bsonx.Value) (bsonx.Value, error) {
	switch {
	case Nullish(a) || Nullish(b):
		return bsonx.Null, nil
	case a.Type.IsNumber() && b.Type.IsNumber():
		return numeric.SubtractIn(out, a, b)
	case a.Type == bsonx.TypeDate && b.Type == bsonx.TypeDate:
		return out.Int64(a.Int64() - b.Int64()), nil // as within MongoDB, it wraps around
	case a.Type == bsonx.TypeDate && b.Type.IsNumber():
		return shiftDate(out, a.Int64(), b, -1)
	case a.Type == bsonx.TypeDate:
		return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch, "can't $subtract %s from Date", b.Type)
	}
	return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch, "can't $subtract %s from %s", b.Type, a.Type)
}

func multiply(out *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) {
	product := one
	for i, v := range args {
		switch {
		case Nullish(v):
			return bsonx.Null, nil
		case !v.Type.IsNumber():
			return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch, "$multiply only supports numeric types, not %s", v.Type)
		case i == 0:
			product = v
		default:
			var err error
			if product, err = numeric.MultiplyIn(out, product, v); err != nil {
				return bsonx.Missing, err
			}
		}
	}
	return product, nil
}

func divide(out *bsonx.Arena, a, b bsonx.Value) (bsonx.Value, error) {
	switch {
	case a.Type.IsNumber() && b.Type.IsNumber():
		return numeric.DivideIn(out, a, b)
	case Nullish(a) || Nullish(b):
		return bsonx.Null, nil
	}
	return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch, "$divide only supports numeric types, not %s and %s", a.Type, b.Type)
}

func mod(out *bsonx.Arena, a, b bsonx.Value) (bsonx.Value, error) {
	switch {
	case a.Type.IsNumber() && b.Type.IsNumber():
		if numeric.IsZero(b) && (a.Type == bsonx.TypeDecimal128 || b.Type == bsonx.TypeDecimal128) {
			return bsonx.Missing, mongoerr.New(5733415, "can't $mod by zero")
		}
		return numeric.ModIn(out, a, b)
	case Nullish(a) || Nullish(b):
		return bsonx.Null, nil
	}
	return bsonx.Missing, mongoerr.New(16611, "$mod only supports numeric types, not %s and %s", a.Type, b.Type)
}

func logarithm(v, base bsonx.Value) (bsonx.Value, error) {
	switch {
	case Nullish(v) || Nullish(base):
		return bsonx.Null, nil
	case !v.Type.IsNumber():
		return bsonx.Missing, mongoerr.New(28756, "$log's argument must be numeric, not %s", v.Type)
	case !base.Type.IsNumber():
		return bsonx.Missing, mongoerr.New(28757, "$log's base must be numeric, not %s", base.Type)
	}
	return numeric.Log(v, base)
}

func power(base, exponent bsonx.Value) (bsonx.Value, error) {
	switch {
	case Nullish(base) || Nullish(exponent):
		return bsonx.Null, nil
	case !base.Type.IsNumber():
		return bsonx.Missing, mongoerr.New(28762, "$pow's base must be numeric, not %s", base.Type)
	case !exponent.Type.IsNumber():
		return bsonx.Missing, mongoerr.New(28763, "$pow's exponent must be numeric, not %s", exponent.Type)
	}
	return numeric.Pow(base, exponent)
}

// atPlace makes $round and $trunc: the second operand is a decimal place from -20 to 100.
func atPlace(name string, fn func(out *bsonx.Arena, v bsonx.Value, place int) (bsonx.Value, error)) Definition {
	def := makeN(name, arithmetic, 1, 2, func(out *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) {
		v, place := args[0], 0
		if Nullish(v) {
			return bsonx.Null, nil
		}
		if !v.Type.IsNumber() {
			return bsonx.Missing, mongoerr.New(51081, "%s only supports numeric types, not %s", name, v.Type)
		}
		if len(args) == 2 {
			if Nullish(args[1]) {
				return bsonx.Null, nil
			}
			var err error
			if place, err = placeOf(name, args[1]); err != nil {
				return bsonx.Missing, err
			}
		}
		return fn(out, v, place)
	})
	return lazily(def, 1, bsonx.Missing, one)
}

func outOfRange(v bsonx.Value) string {
	if v.Type == bsonx.TypeDecimal128 {
		return "decimal value " + numeric.Format(v)
	}
	return "value " + numeric.Format(v)
}

// ErrOutOfLong refuses a number that no int64 is near to.
func ErrOutOfLong(v bsonx.Value) error {
	return mongoerr.New(31109, "Can't coerce out of range %s to long", outOfRange(v))
}

func placeOf(name string, v bsonx.Value) (int, error) {
	if !v.Type.IsNumber() {
		return 0, mongoerr.New(16004, "can't convert from BSON type %s to long", v.Type)
	}
	if _, ok := v.AsInt64(); !ok {
		return 0, ErrOutOfLong(v)
	}
	n, ok := asInt32(v)
	if !ok {
		return 0, mongoerr.New(51082, "precision argument to  %s must be a integral value", name)
	}
	if n < -20 || n > 100 {
		return 0, mongoerr.New(51083, "cannot apply %s with precision value %d value must be in [-20, 100]", name, n)
	}
	return n, nil
}

// bitwise combines int32 and int64 values, beginning with the operation's neutral element.
func bitwise(name string, op numeric.BitOp, neutral int32) Definition {
	def := opAssociative(name, arithmetic, Commutable, func(_ *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) {
		result := bsonx.Int32(neutral)
		for _, v := range args {
			switch v.Type {
			case bsonx.TypeInt32, bsonx.TypeInt64:
				var err error
				if result, err = numeric.Bit(op, result, v); err != nil {
					return bsonx.Missing, err
				}
			default:
				if !Nullish(v) {
					return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch, "%s only supports int and long operands.", name)
				}
				return bsonx.Null, nil
			}
		}
		return result, nil
	})
	return lazily(def, 1)
}

func bitNot(v bsonx.Value) (bsonx.Value, error) {
	switch {
	case Nullish(v):
		return bsonx.Null, nil
	case !v.Type.IsNumber():
		return bsonx.Missing, mongoerr.New(28765, "$bitNot only supports numeric types, not %s", v.Type)
	case v.Type == bsonx.TypeDouble || v.Type == bsonx.TypeDecimal128:
		return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch, "$bitNot only supports int and long, not: %s.", v.Type)
	}
	return numeric.BitNot(v)
}
