package bsonx

import (
	"strconv"
	"strings"
)

// SaturatingInt64 converts a number or bool to an integer, like MongoDB's safeNumberLong. Numbers
// beyond the range of int64 become the nearest limit. All other values become 0.
func SaturatingInt64(v Value) int64 {
	if v.Type == TypeBool {
		if v.Bool() {
			return 1
		}
		return 0
	}
	return v.saturatingInt64()
}

// NumberText formats a number for messages. For other values it returns the name of the type.
func NumberText(v Value) string {
	if f, ok := v.AsFloat64(); ok {
		return strings.TrimSuffix(strconv.FormatFloat(f, 'g', -1, 64), ".0")
	}
	return v.Type.String()
}
