package bsonxtest

import (
	"math"
	"strconv"
)

// FormatDouble returns the shortest text that parses to f: "1", "0.1", "1e+300", "NaN", "Infinity".
func FormatDouble(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case math.Abs(f) < 1e21 && (math.Abs(f) >= 1e-6 || f == 0):
		return strconv.FormatFloat(f, 'f', -1, 64)
	default:
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
}
