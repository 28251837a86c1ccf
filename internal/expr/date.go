package expr

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

const dateFamily = "date"

func DateOperators() []Definition {
	return []Definition{
		datePart("$year", func(w wall) int64 { year, _, _ := dateOfDays(w.days); return year }, false),
		datePart("$month", func(w wall) int64 { _, month, _ := dateOfDays(w.days); return month }, false),
		datePart("$dayOfMonth", func(w wall) int64 { _, _, day := dateOfDays(w.days); return day }, false),
		datePart("$hour", func(w wall) int64 { return w.millis / hourMillis }, false),
		datePart("$minute", func(w wall) int64 { return w.millis / minuteMillis % 60 }, false),
		datePart("$second", func(w wall) int64 { return w.millis / secondMillis % 60 }, false),
		datePart("$millisecond", func(w wall) int64 { return w.millis % secondMillis }, false),
		datePart("$dayOfWeek", func(w wall) int64 { return weekday(w.days)%7 + 1 }, false),
		datePart("$dayOfYear", func(w wall) int64 { return dayOfYear(w.days) }, false),
		datePart("$week", func(w wall) int64 { return sundayWeek(w.days) }, false),
		datePart("$isoDayOfWeek", func(w wall) int64 { return weekday(w.days) }, false),
		datePart("$isoWeek", func(w wall) int64 { _, week := isoWeek(w.days); return week }, false),
		datePart("$isoWeekYear", func(w wall) int64 { year, _ := isoWeek(w.days); return year }, true),
		timestampPart("$tsSecond", 5687301, func(t, _ uint32) uint32 { return t }),
		timestampPart("$tsIncrement", 5687302, func(_, i uint32) uint32 { return i }),
		{Name: "$dateFromParts", Family: dateFamily, min: 1, max: 1, Parse: parseDateFromParts},
		{Name: "$dateToParts", Family: dateFamily, min: 1, max: 1, Parse: parseDateToParts},
		{Name: "$dateToString", Family: dateFamily, min: 1, max: 1, Parse: parseDateToString},
		{Name: "$dateFromString", Family: dateFamily, min: 1, max: 1, Parse: parseDateFromString},
		{Name: dateDiffName, Family: dateFamily, min: 1, max: 1, Parse: parseDateDiff},
		{Name: "$dateTrunc", Family: dateFamily, min: 1, max: 1, Parse: parseDateTrunc},
		dateArithmetic("$dateAdd", 1), dateArithmetic("$dateSubtract", -1),
	}
}

func dayOfYear(days int64) int64 {
	year, _, _ := dateOfDays(days)
	return days - daysOf(year, 1, 1) + 1
}

// sundayWeek returns the week of the year, 0 to 53: weeks start on Sundays, and the days before the first are in week 0.
func sundayWeek(days int64) int64 { return (dayOfYear(days) + 6 - weekday(days)%7) / 7 }

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

// wallOf returns what the clocks of a zone show at a date, timestamp or ObjectId.
func wallOf(v bsonx.Value, zone *time.Location) (wall, error) {
	if v.Type == bsonx.TypeDate {
		return wallAt(v.Int64(), zone), nil
	}
	t, err := dateOf(v)
	return wallAt(t.UnixMilli(), zone), err
}

// datePartExpr is a part of a date in a time zone.
type datePartExpr struct {
	date Expr
	zone zoneArg
	part func(wall) int64
	long bool
}

func (d *datePartExpr) Children() []Expr { return present([]Expr{d.date, d.zone.expr}) }

func (d *datePartExpr) Eval(ctx *Context) (bsonx.Value, error) {
	date, err := d.date.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	if Nullish(date) {
		return bsonx.Null, nil
	}
	millis, ok := millisOf(date)
	if !ok {
		_, err := dateOf(date)
		return bsonx.Missing, err
	}
	zone, err := d.zone.eval(ctx)
	if err != nil || zone == nil {
		return bsonx.Null, err
	}
	w := wallAt(millis, zone)
	if d.long {
		return ctx.arena.Int64(d.part(w)), nil
	}
	return ctx.arena.Int32(int32(d.part(w))), nil
}

// datePart makes an operator of a date, given alone or as {date, timezone}, whose result is an int, or a long where long is.
func datePart(name string, part func(wall) int64, long bool) Definition {
	return Definition{
		Name: name, Family: dateFamily, min: 1, max: 1,
		Parse: func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			args, err := p.dateArguments(def, arg, vars)
			if err != nil {
				return nil, err
			}
			return &datePartExpr{args[0], compileZone("", args[1], operandFailures(args, vars)), part, long}, nil
		},
	}
}

// dateArguments compiles the operands of a date part: the date and the time zone, which may be nil.
func (p *Parser) dateArguments(def *Definition, arg bsonx.Value, vars *Vars) ([]Expr, error) {
	if arg.Type == bsonx.TypeDocument && !strings.HasPrefix(string(arg.Doc().First().Key), "$") {
		args, err := p.namedArgs(arg, vars, unknownArgument{40535, `unrecognized option to %s: "%s"`}, def.Name, "date", "timezone")
		if err == nil && args[0] == nil {
			err = mongoerr.New(40539, "missing 'date' argument to %s, provided: %s", def.Name, ShowElement(def.Name, arg))
		}
		return args, err
	}
	args, err := p.operands(arg, vars)
	if err == nil && len(args) != 1 {
		err = mongoerr.New(40536, "%s accepts exactly one argument if given an array, but was given %d", def.Name, len(args))
	}
	return append(args, nil), err
}

func timestampPart(name string, code mongoerr.Code, part func(t, i uint32) uint32) Definition {
	return make1(name, dateFamily, func(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
		if Nullish(v) {
			return bsonx.Null, nil
		}
		if v.Type != bsonx.TypeTimestamp {
			return bsonx.Missing, mongoerr.New(code, " Argument to %s must be a timestamp, but is %s", name, v.Type)
		}
		return out.Int64(int64(part(v.Timestamp()))), nil
	})
}
