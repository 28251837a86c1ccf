package expr

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// RoundedInt64 rounds a number to an int64. Halves of a double are rounded away from zero, halves
// of a decimal to the even neighbour. It returns false if the number is out of range.
func RoundedInt64(v bsonx.Value) (int64, bool) {
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

// ErrOutOfLong returns the error for a number outside of the range of int64.
func ErrOutOfLong(v bsonx.Value) error {
	return mongoerr.New(31109, "Can't coerce out of range %s to long", outOfRange(v))
}

// AsInt32 converts a number that is an integer in the range of int32. It returns false for other
// numbers.
func AsInt32(v bsonx.Value) (int, bool) {
	i, ok := v.AsExactInt64()
	return int(i), ok && i >= math.MinInt32 && i <= math.MaxInt32
}

// SearchBounds parses the optional start and end arguments of $indexOfArray, $indexOfBytes and
// $indexOfCP. length is the default end.
func SearchBounds(name string, args []bsonx.Value, length int) (from, to int, err error) {
	to = length
	for i, v := range args {
		n, ok := AsInt32(v)
		if !v.Type.IsNumber() || !ok {
			return 0, 0, mongoerr.New(40096, "%srequires an integral %s index, found a value of type: %s, with value: %s",
				name, []string{"starting", "ending"}[i], v.Type, Show(v))
		}
		if n < 0 {
			return 0, 0, mongoerr.New(40097, "%s requires a nonnegative %s index, found: %d", name,
				[]string{"starting", "ending"}[i], n)
		}
		if i == 0 {
			from = n
		} else {
			to = min(to, n)
		}
	}
	return from, to, nil
}

func outOfRange(v bsonx.Value) string {
	if v.Type == bsonx.TypeDecimal128 {
		return "decimal value " + numeric.Format(v)
	}
	return "value " + numeric.Format(v)
}
