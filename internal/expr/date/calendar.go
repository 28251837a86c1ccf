package date

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func dayOfYear(days int64) int64 {
	year, _, _ := dateOfDays(days)
	return days - daysOf(year, 1, 1) + 1
}

// sundayWeek returns the week of the year, from 0 to 53. Weeks begin on Sunday, and the days before
// the first Sunday are in week 0.
func sundayWeek(days int64) int64 { return (dayOfYear(days) + 6 - weekday(days)%7) / 7 }

// DateOf converts a date, timestamp or ObjectId to a time in UTC. It fails for other types.
func DateOf(v bsonx.Value) (time.Time, error) {
	switch v.Type {
	case bsonx.TypeDate:
		return v.Time(), nil
	case bsonx.TypeTimestamp:
		t, _ := v.Timestamp()
		return time.Unix(int64(t), 0).UTC(), nil
	case bsonx.TypeObjectID:
		return time.Unix(int64(int32(binary.BigEndian.Uint32(v.Data))), 0).UTC(), nil
	default:
		return time.Time{}, mongoerr.New(16006, "can't convert from BSON type %s to Date", v.Type)
	}
}

// wallOf converts a date, timestamp or ObjectId to the local date and time in a time zone.
func wallOf(v bsonx.Value, zone *time.Location) (wall, error) {
	if v.Type == bsonx.TypeDate {
		return wallAt(v.Int64(), zone), nil
	}
	t, err := DateOf(v)
	return wallAt(t.UnixMilli(), zone), err
}

// wall is a local date and time in a time zone.
type wall struct {
	days   int64 // days since 1970-01-01
	millis int64 // milliseconds since midnight
	offset int64 // the offset of the zone from UTC at that moment, in seconds
	dst    bool  // daylight saving time is in effect
}

// wallAt converts a time in milliseconds since 1970 to the local date and time in zone.
func wallAt(millis int64, zone *time.Location) wall {
	seconds := floorDiv(millis, secondMillis)
	w := wall{}
	if zone != time.UTC {
		t := time.Unix(seconds, 0).In(zone)
		_, offset := t.Zone()
		w.offset, w.dst = int64(offset), t.IsDST()
	}
	local := seconds + w.offset
	w.days = floorDiv(local, daySeconds)
	w.millis = (local-w.days*daySeconds)*secondMillis + millis - seconds*secondMillis
	return w
}

// instant converts a local date and time to milliseconds since 1970. A local time that does not
// exist, because clocks skip it, is moved forward by the length of the gap. A local time that
// occurs twice means the later one, or the earlier one if dst asks for daylight saving time. ok is
// false if the result is out of range.
func instant(days, millis int64, zone *time.Location, dst bool) (int64, bool) {
	days += floorDiv(millis, dayMillis)
	millis = floorMod(millis, dayMillis)
	const limit = math.MaxInt64/dayMillis - 2
	if days > limit || days < -limit {
		return 0, false
	}
	local := days*dayMillis + millis
	if zone == time.UTC {
		return local, true
	}
	seconds := floorDiv(local, secondMillis)
	before, after := offsetAt(seconds-daySeconds, zone), offsetAt(seconds+daySeconds, zone)
	offset := before
	if before != after {
		first := offsetAt(seconds-before, zone) == before
		second := offsetAt(seconds-after, zone) == after
		switch {
		case first && !second:
		case second && !first:
			offset = after
		case first && dst:
			offset = max(before, after)
		default:
			offset = min(before, after)
		}
	}
	return local - offset*secondMillis, true
}

func offsetAt(seconds int64, zone *time.Location) int64 {
	_, offset := time.Unix(seconds, 0).In(zone).Zone()
	return int64(offset)
}

// daysOf returns the number of days from 1970-01-01 to a day of the Gregorian calendar. A month or
// day out of range continues into the neighbouring years or months.
func daysOf(year, month, day int64) int64 {
	year += floorDiv(month-1, 12)
	month = floorMod(month-1, 12) + 1
	if month <= 2 {
		year--
	}
	era := floorDiv(year, 400)
	yearOfEra := year - era*400
	dayOfYear := (153*((month+9)%12) + 2) / 5
	return era*146097 + yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear + day - 1 - 719468
}

// dateOfDays returns the calendar date for a number of days since 1970-01-01.
func dateOfDays(days int64) (year, month, day int64) {
	days += 719468
	era := floorDiv(days, 146097)
	dayOfEra := days - era*146097
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36524 - dayOfEra/146096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	month = (5*dayOfYear + 2) / 153
	day = dayOfYear - (153*month+2)/5 + 1
	year = era*400 + yearOfEra
	if month = month + 3; month > 12 {
		return year + 1, month - 12, day
	}
	return year, month, day
}

// weekday returns the day of the week, from 1 for Monday to 7 for Sunday.
func weekday(days int64) int64 { return floorMod(days+3, 7) + 1 }

// isoWeek returns the year and week according to ISO 8601. Weeks begin on Monday, and the first
// week contains the first Thursday of the year.
func isoWeek(days int64) (year, week int64) {
	thursday := days - weekday(days) + 4
	year, _, _ = dateOfDays(thursday)
	return year, (thursday-daysOf(year, 1, 1))/7 + 1
}

// daysOfISOWeek returns the number of days from 1970-01-01 to a day of an ISO 8601 week.
func daysOfISOWeek(year, week, day int64) int64 {
	jan4 := daysOf(year, 1, 4)
	return jan4 - weekday(jan4) + (week-1)*7 + day
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

// mulOverflows returns a*b, and whether the product overflows.
func mulOverflows(a, b int64) (int64, bool) {
	p := a * b
	return p, a != 0 && (p/a != b || a == -1 && b == math.MinInt64)
}

// addOverflows returns a+b, and whether the sum overflows.
func addOverflows(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) != (b > 0) && b != 0
}
