package window_test

import (
	"math"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/window"
)

// TestPlusReachesAllDates checks that the number of units has no limit of its own: only the result
// must be a date.
func TestPlusReachesAllDates(t *testing.T) {
	t.Parallel()
	const century = 100 * 365 * 24 * 3600 * 1000
	for _, tt := range []struct {
		unit string
		n    int64
		want int64 // milliseconds since 1970
		code mongoerr.Code
	}{
		{"millisecond", century, century, 0},
		{"millisecond", -century, -century, 0},
		{"second", 1 << 41, 1 << 41 * 1000, 0},
		{"day", math.MaxInt64 / 1000, 0, 5166406},
		{"year", math.MaxInt64, 0, 5166406},
		{"year", math.MinInt64, 0, 5166406},
		{"year", 1 << 60, 0, 5166406}, // 12 times as many months overflow to 0
	} {
		unit, err := window.ParseTimeUnit(tt.unit)
		if err != nil {
			t.Fatal(err)
		}
		got, err := unit.Plus(bsonx.Date(0), tt.n)
		if mongoerr.CodeOf(err) != tt.code || tt.code == 0 && got.Int64() != tt.want {
			t.Errorf("%d %s: %v, %v", tt.n, tt.unit, got, err)
		}
	}
}
