package filter

import (
	"errors"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// parseInt returns v as an integer. It fails for other types and for fractions. name is the field
// name for the message.
func parseInt(name string, v bsonx.Value) (int64, error) {
	element := name + ": " + bsonx.FormatShell(v)
	if !v.Type.IsNumber() {
		return 0, mongoerr.New(mongoerr.FailedToParse, "Expected a number in: %s", element)
	}
	if isNaN(v) {
		return 0, mongoerr.New(mongoerr.FailedToParse, "Expected an integer, but found NaN in: %s", element)
	}
	if i, ok := v.AsExactInt64(); ok {
		return i, nil
	}
	if f, _ := v.AsFloat64(); f >= math.MaxInt64 || f < math.MinInt64 {
		return 0, mongoerr.New(mongoerr.FailedToParse, "Cannot represent as a 64-bit integer: %s", element)
	}
	return 0, mongoerr.New(mongoerr.FailedToParse, "Expected an integer: %s", element)
}

// nonNegativeInt is parseInt for counts, which must not be negative.
func nonNegativeInt(name string, v bsonx.Value) (int64, error) {
	i, err := parseInt(name, v)
	if err == nil && i < 0 {
		err = mongoerr.New(mongoerr.FailedToParse,
			"Expected a non-negative number in: %s: %s", name, bsonx.FormatShell(v))
	}
	return i, err
}

// nonNegativeInt32 is nonNegativeInt for operators whose error code is BadValue. what is the name
// of the operator in the message.
func nonNegativeInt32(what, name string, v bsonx.Value) (int, error) {
	i, err := nonNegativeInt(name, v)
	if err == nil && i > math.MaxInt32 {
		err = mongoerr.New(mongoerr.FailedToParse, "Cannot represent %s: %s in an int", name, bsonx.FormatShell(v))
	}
	var reason *mongoerr.Error
	if errors.As(err, &reason) {
		return 0, mongoerr.New(mongoerr.BadValue, "Failed to parse %s. %s", what, reason.Message)
	}
	return int(i), err
}
