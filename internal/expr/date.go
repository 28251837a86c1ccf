package expr

import (
	"encoding/binary"
	"strings"
	"time"
	_ "time/tzdata" // A server without zone files must know the Olson time zones too.

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

const dateFamily = "date"

func dateOperators() []definition {
	return []definition{
		datePart("$year", func(t time.Time) int { return t.Year() }),
		datePart("$month", func(t time.Time) int { return int(t.Month()) }),
		datePart("$dayOfMonth", func(t time.Time) int { return t.Day() }),
		datePart("$hour", func(t time.Time) int { return t.Hour() }),
		datePart("$minute", func(t time.Time) int { return t.Minute() }),
		datePart("$second", func(t time.Time) int { return t.Second() }),
		datePart("$millisecond", func(t time.Time) int { return t.Nanosecond() / 1e6 }),
		datePart("$dayOfWeek", func(t time.Time) int { return int(t.Weekday()) + 1 }),
		datePart("$dayOfYear", func(t time.Time) int { return t.YearDay() }),
		datePart("$week", func(t time.Time) int { return (t.YearDay() + 6 - int(t.Weekday())) / 7 }),
		datePart("$isoDayOfWeek", func(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 }),
		datePart("$isoWeek", func(t time.Time) int { _, week := t.ISOWeek(); return week }),
		dateFunction("$isoWeekYear", func(t time.Time) bsonx.Value { year, _ := t.ISOWeek(); return bsonx.Int64(int64(year)) }),
		timestampPart("$tsSecond", 5687301, func(t, _ uint32) uint32 { return t }),
		timestampPart("$tsIncrement", 5687302, func(_, i uint32) uint32 { return i }),
	}
}

// dateOf converts a date, timestamp or ObjectId to a time in UTC.
func dateOf(v bsonx.Value) (time.Time, error) {
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

// zoneOf reads a time zone: an Olson name, UTC, GMT, or an offset such as +01, -0530 or +05:30.
func zoneOf(v bsonx.Value) (*time.Location, error) {
	if v.Type != bsonx.TypeString {
		return nil, mongoerr.New(40517, "timezone must evaluate to a string, found %s", v.Type)
	}
	name := v.Str()
	if name == "" || name == "Local" {
		return nil, unknownZone(name)
	}
	if name == "GMT" || name == "UTC" {
		return time.UTC, nil
	}
	if name[0] == '+' || name[0] == '-' {
		return offsetZone(name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, unknownZone(name)
	}
	return zone, nil
}

func unknownZone(name string) error {
	return mongoerr.New(40485, "unrecognized time zone identifier: \"%s\"", name)
}

func offsetZone(name string) (*time.Location, error) {
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
	if name[0] == '-' {
		minutes = -minutes
	}
	return time.FixedZone(name, minutes*60), nil
}

func datePart(name string, part func(time.Time) int) definition {
	return dateFunction(name, func(t time.Time) bsonx.Value { return bsonx.Int32(int32(part(t))) })
}

// dateFunction makes an operator of a date, given alone or as {date, timezone}.
func dateFunction(name string, fn func(time.Time) bsonx.Value) definition {
	eval := func(args []bsonx.Value, zoned bool) (bsonx.Value, error) {
		zone := time.UTC
		if zoned {
			if nullish(args[1]) {
				return bsonx.Null, nil
			}
			var err error
			if zone, err = zoneOf(args[1]); err != nil {
				return bsonx.Missing, err
			}
		}
		if nullish(args[0]) {
			return bsonx.Null, nil
		}
		t, err := dateOf(args[0])
		if err != nil {
			return bsonx.Missing, err
		}
		return fn(t.In(zone)), nil
	}
	return definition{
		name: name, family: dateFamily, min: 1, max: 1,
		parse: func(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			args, err := p.dateArguments(def, arg, vars)
			if err != nil {
				return nil, err
			}
			zoned := args[1] != nil
			return &callN{args, func(values []bsonx.Value) (bsonx.Value, error) { return eval(values, zoned) }}, nil
		},
	}
}

// dateArguments compiles the operands of a date part: the date and the time zone, which may be nil.
func (p *parser) dateArguments(def *definition, arg bsonx.Value, vars *Vars) ([]Expr, error) {
	if arg.Type == bsonx.TypeDocument && !strings.HasPrefix(string(arg.Doc().First().Key), "$") {
		args, err := p.namedArgs(arg, vars, 40535, def.name, "date", "timezone")
		if err == nil && args[0] == nil {
			err = mongoerr.New(40539, "missing 'date' argument to %s, provided: %s", def.name, Show(arg))
		}
		return args, err
	}
	args, err := p.operands(arg, vars)
	if err == nil && len(args) != 1 {
		err = mongoerr.New(40536, "%s accepts exactly one argument if given an array, but was given %d", def.name, len(args))
	}
	return append(args, nil), err
}

func timestampPart(name string, code mongoerr.Code, part func(t, i uint32) uint32) definition {
	return op1(name, dateFamily, func(v bsonx.Value) (bsonx.Value, error) {
		if nullish(v) {
			return bsonx.Null, nil
		}
		if v.Type != bsonx.TypeTimestamp {
			return bsonx.Missing, mongoerr.New(code, "Argument to %s must be a timestamp, but is %s", name, v.Type)
		}
		return bsonx.Int64(int64(part(v.Timestamp()))), nil
	})
}

// dateLayouts are the forms of a date that $toDate reads.
var dateLayouts = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02", "20060102T150405Z07:00", "20060102T150405",
	"20060102", "2006/01/02", "January 2 2006", "January 2, 2006", "Jan 2 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006",
}

func parseDate(text string) (time.Time, bool) {
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
