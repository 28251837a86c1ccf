package expr

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// FormatDouble formats a double like MongoDB's conversions: the shortest text that parses to the
// same double.
func FormatDouble(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if a := math.Abs(f); f == 0 || a >= 1e-4 && a < 1e16 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	text := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(text, "e")
	sign := exponent[:1]
	return mantissa + "e" + sign + strings.TrimLeft(exponent[1:2], "") + exponent[2:]
}

// formatISODate formats milliseconds since 1970 as 2017-01-01T00:00:00.000Z. It fails for years
// outside of 0 to 9999.
func formatISODate(millis int64) (string, error) {
	t := time.UnixMilli(millis).UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		return "", mongoerr.New(18537, "Could not convert date to string: date component was outside the supported range of 0-9999: %d", millis)
	}
	return t.Format("2006-01-02T15:04:05.000Z"), nil
}

func formatDecimal(v bsonx.Value) string { return bsonx.FormatDecimal(v) }
