package bsonx

import (
	"math"
	"strconv"
)

// FormatDouble returns the shortest text that reads back as f: "1", "0.1", "1e+300", "NaN",
// "Infinity".
func FormatDouble(f float64) string { return string(appendDouble(nil, f)) }

func appendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case math.Abs(f) < 1e21 && (math.Abs(f) >= 1e-6 || f == 0):
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	default:
		return strconv.AppendFloat(dst, f, 'g', -1, 64)
	}
}
