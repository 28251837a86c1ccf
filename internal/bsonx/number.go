package bsonx

import (
	"strconv"
	"strings"
)

// SaturatingInt64 converts a number or a boolean to a whole number. Numbers beyond int64 become its
// limits, and all other values 0, as with MongoDB's safeNumberLong.
func SaturatingInt64(v Value) int64 {
	if v.Type == TypeBool {
		if v.Bool() {
			return 1
		}
		return 0
	}
	return v.SaturatingInt64()
}

// NumberText returns a number as messages show it, and the name of the type of any other value.
func NumberText(v Value) string {
	if f, ok := v.AsFloat64(); ok {
		return strings.TrimSuffix(strconv.FormatFloat(f, 'g', -1, 64), ".0")
	}
	return v.Type.String()
}
