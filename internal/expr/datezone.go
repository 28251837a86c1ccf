package expr

import (
	"math"
	"strings"
	"time"
	_ "time/tzdata" // A server without zone files must know the Olson time zones too.

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

const (
	secondMillis = 1000
	minuteMillis = 60 * secondMillis
	hourMillis   = 60 * minuteMillis
	dayMillis    = 24 * hourMillis
	daySeconds   = 24 * 60 * 60
)

// maxCachedZones bounds the time zones that a Context keeps; there are some 600 names.
const maxCachedZones = 1024

// zoneOf reads a time zone: an Olson name, UTC, GMT, or an offset such as +01, -0530 or +05:30. time.UTC stands for
// UTC and the offset zero only, because $dateToString prints a Z for these and not for other names of the zone.
func zoneOf(v bsonx.Value) (*time.Location, *mongoerr.Error) {
	if v.Type != bsonx.TypeString {
		return nil, mongoerr.New(40517, "timezone must evaluate to a string, found %s", v.Type)
	}
	name := v.Str()
	if name == "UTC" {
		return time.UTC, nil
	}
	if name != "" && (name[0] == '+' || name[0] == '-') {
		return offsetZone(name)
	}
	if !isZoneName(name) {
		return nil, unknownZone(name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, unknownZone(name)
	}
	return zone, nil
}

// isZoneName refuses what time.LoadLocation accepts although it is no Olson name.
func isZoneName(name string) bool {
	switch name {
	case "", "Local", "localtime", "posixrules":
		return false
	}
	return !strings.HasPrefix(name, "posix/") && !strings.HasPrefix(name, "right/")
}

func unknownZone(name string) *mongoerr.Error {
	return mongoerr.New(40485, "unrecognized time zone identifier: \"%s\"", name)
}

func offsetZone(name string) (*time.Location, *mongoerr.Error) {
	digits := name[1:]
	if len(digits) == 5 && digits[2] == ':' {
		digits = digits[:2] + digits[3:]
	}
	if len(digits) != 2 && len(digits) != 4 {
		return nil, unknownZone(name)
	}
	n := 0
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return nil, unknownZone(name)
		}
		n = n*10 + int(digits[i]-'0')
	}
	minutes := n * 60
	if len(digits) == 4 {
		minutes = n/100*60 + n%100
	}
	if minutes == 0 {
		return time.UTC, nil
	}
	if name[0] == '-' {
		minutes = -minutes
	}
	return time.FixedZone(name, minutes*60), nil
}

// zoneArg is an operator's time zone: known at parse time, or an expression.
type zoneArg struct {
	op    string // for errors, where they name it
	fixed *time.Location
	expr  Expr
}

// compileZone prepares the operand timezone of op, which may be nil for UTC. A constant that is none is noted.
func compileZone(op string, e Expr, failures *Failures) zoneArg {
	if e == nil {
		return zoneArg{fixed: time.UTC}
	}
	z := zoneArg{op: op, expr: e}
	if v, ok := ConstValue(e); ok && !Nullish(v) {
		var err error
		z.fixed, err = z.zoneOf(v)
		failures.Add(err)
	}
	return z
}

func (z *zoneArg) zoneOf(v bsonx.Value) (*time.Location, error) {
	zone, err := zoneOf(v)
	switch {
	case err == nil:
		return zone, nil
	case z.op == "":
		return nil, err
	}
	return nil, err.Prefix("%s parameter 'timezone' value parsing failed :: caused by :: ", z.op)
}

// eval returns the time zone, or nil where it is null.
func (z zoneArg) eval(ctx *Context) (*time.Location, error) {
	if z.fixed != nil {
		return z.fixed, nil
	}
	v, err := z.expr.Eval(ctx)
	if err != nil || Nullish(v) {
		return nil, err
	}
	if v.Type == bsonx.TypeString {
		if zone := ctx.zones[string(v.StrBytes())]; zone != nil {
			return zone, nil
		}
	}
	zone, err := z.zoneOf(v)
	if err != nil {
		return nil, err
	}
	if ctx.zones == nil || len(ctx.zones) >= maxCachedZones {
		ctx.zones = map[string]*time.Location{}
	}
	ctx.zones[v.Str()] = zone
	return zone, nil
}

// wall is a date and time of day as the clocks of a zone show it.
type wall struct {
	days   int64 // since 1970-01-01
	millis int64 // since midnight
	offset int64 // of the zone at that moment, in seconds
	dst    bool  // whether that is daylight saving time
}

// wallAt returns what the clocks of a zone show at a time in milliseconds since 1970.
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

// instant converts a wall clock's time to milliseconds since 1970. A time that the clocks skip is moved forward by as
// much as they are. A time that they show twice is the later one, but the first if dst asks for daylight saving time.
// ok is false where the result is out of range.
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

// daysOf returns the days from 1970-01-01 to a day of the Gregorian calendar. Months and days out of range count on.
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

// dateOfDays is the inverse of daysOf.
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

// weekday returns the day of the week, 1 for Monday to 7 for Sunday.
func weekday(days int64) int64 { return floorMod(days+3, 7) + 1 }

// isoWeek returns the year and the week of ISO 8601: weeks start on Mondays, and the first has the year's first Thursday.
func isoWeek(days int64) (year, week int64) {
	thursday := days - weekday(days) + 4
	year, _, _ = dateOfDays(thursday)
	return year, (thursday-daysOf(year, 1, 1))/7 + 1
}

// daysOfISOWeek returns the days from 1970-01-01 to a day of an ISO week.
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

// mulOverflows returns the product, and whether it does not fit.
func mulOverflows(a, b int64) (int64, bool) {
	p := a * b
	return p, a != 0 && (p/a != b || a == -1 && b == math.MinInt64)
}

// addOverflows returns the sum, and whether it does not fit.
func addOverflows(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) != (b > 0) && b != 0
}
