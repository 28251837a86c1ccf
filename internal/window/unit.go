package window

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TimeUnit is a unit of time: a number of milliseconds or a number of months.
type TimeUnit struct {
	millis int64
	months int
}

// NoUnit is the unit of values that are numbers and not dates.
var NoUnit = TimeUnit{}

// ParseTimeUnit returns the unit with the given name, such as "month".
func ParseTimeUnit(name string) (TimeUnit, error) {
	const second = 1000
	switch name {
	case "millisecond":
		return TimeUnit{millis: 1}, nil
	case "second":
		return TimeUnit{millis: second}, nil
	case "minute":
		return TimeUnit{millis: 60 * second}, nil
	case "hour":
		return TimeUnit{millis: 3600 * second}, nil
	case "day":
		return TimeUnit{millis: 24 * 3600 * second}, nil
	case "week":
		return TimeUnit{millis: 7 * 24 * 3600 * second}, nil
	case "month":
		return TimeUnit{months: 1}, nil
	case "quarter":
		return TimeUnit{months: 3}, nil
	case "year":
		return TimeUnit{months: 12}, nil
	}
	return NoUnit, mongoerr.New(mongoerr.FailedToParse, "unknown time unit value: %s", name)
}

// maxMonths is the largest number of months that Plus adds. It is a million years.
const maxMonths = 12 * 1_000_000

// Plus adds n units to a date, like $dateAdd in UTC. If the resulting month does not have the day,
// the result is the last day of that month. Plus fails if the result is out of range.
func (u TimeUnit) Plus(date bsonx.Value, n int64) (bsonx.Value, error) {
	millis := date.Int64()
	if u.millis > 0 {
		sum := millis + n*u.millis
		if n*u.millis/u.millis != n || (sum > millis) != (n > 0) && n != 0 {
			return bsonx.Missing, errDateOverflow()
		}
		return bsonx.Date(sum), nil
	}
	if limit := maxMonths / int64(u.months); n > limit || n < -limit {
		return bsonx.Missing, errDateOverflow()
	}
	t := time.UnixMilli(millis).UTC()
	year, month, day := t.Date()
	first := time.Date(year, month+time.Month(int(n)*u.months), 1, 0, 0, 0, 0, time.UTC)
	day = min(day, first.AddDate(0, 1, -1).Day())
	dayStart := time.Date(year, month, t.Day(), 0, 0, 0, 0, time.UTC)
	return bsonx.Date(first.AddDate(0, 0, day-1).UnixMilli() + millis - dayStart.UnixMilli()), nil
}

func errDateOverflow() error { return mongoerr.New(5166406, "$dateAdd overflowed") }
