package expr

import (
	"math"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The operands of $dateFromParts, in the order of datePartNames.
const (
	partYear = iota
	partMonth
	partDay
	partHour
	partMinute
	partSecond
	partMillisecond
	partISOYear
	partISOWeek
	partISODay
	partZone
)

var datePartNames = []string{
	"year", "month", "day", "hour", "minute", "second", "millisecond", "isoWeekYear", "isoWeek", "isoDayOfWeek", "timezone",
}

// dateFromPartsExpr is $dateFromParts. Absent operands are nil.
type dateFromPartsExpr struct {
	parts []Expr
	zone  zoneArg
}

func parseDateFromParts(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(40519, "%s only supports an object as its argument", def.Name)
	}
	raw, err := rawArgs(arg, unknownArgument{40518, unrecognizedArgument}, def.Name, datePartNames...)
	if err != nil {
		return nil, err
	}
	given := func(parts ...int) bool {
		return slices.ContainsFunc(parts, func(i int) bool { return !raw[i].IsMissing() })
	}
	switch {
	case !given(partYear, partISOYear):
		return nil, mongoerr.New(40516, "%s requires either 'year' or 'isoWeekYear' to be present", def.Name)
	case given(partYear) && given(partISOYear, partISOWeek, partISODay):
		return nil, mongoerr.New(40489, "%s does not allow mixing natural dates with ISO dates", def.Name)
	case given(partISOYear) && given(partMonth, partDay):
		return nil, mongoerr.New(40525, "%s does not allow mixing ISO dates with natural dates", def.Name)
	}
	args, err := p.argsIn(fromLast(len(raw)), raw, vars)
	if err != nil {
		return nil, err
	}
	return &dateFromPartsExpr{args[:partZone], compileZone("", args[partZone], operandFailures(args, vars))}, nil
}

func (d *dateFromPartsExpr) Children() []Expr {
	return append(present(d.parts), present([]Expr{d.zone.expr})...)
}

func (d *dateFromPartsExpr) Eval(ctx *Context) (bsonx.Value, error) {
	var parts [partZone]int64
	if ok, err := d.evalParts(ctx, &parts, partHour, partMinute, partSecond, partMillisecond); !ok {
		return bsonx.Null, err
	}
	zone, err := d.zone.eval(ctx)
	if err != nil || zone == nil {
		return bsonx.Null, err
	}
	days, null, err := d.day(ctx, &parts)
	if err != nil || null {
		return bsonx.Null, err
	}
	seconds, over1 := mulOverflows(parts[partSecond], secondMillis)
	millis, over2 := addOverflows(seconds, parts[partMillisecond])
	millis, over3 := addOverflows(millis, parts[partHour]*hourMillis+parts[partMinute]*minuteMillis)
	_, over4 := mulOverflows(parts[partMillisecond], 1000) // MongoDB counts in microseconds
	out, ok := instant(days, millis, zone, false)
	if over1 || over2 || over3 || over4 || !ok {
		return bsonx.Missing, mongoerr.New(mongoerr.DurationOverflow,
			"Overflow casting from a lower-precision duration to a higher-precision duration")
	}
	return ctx.arena.Date(out), nil
}

// day returns the day that the parts name, in days since 1970.
func (d *dateFromPartsExpr) day(ctx *Context, parts *[partZone]int64) (days int64, null bool, err error) {
	year, month, day, code := partYear, partMonth, partDay, mongoerr.Code(40523)
	if d.parts[partYear] == nil {
		year, month, day, code = partISOYear, partISOWeek, partISODay, 31095
	}
	if ok, err := d.evalParts(ctx, parts, year, month, day); !ok {
		return 0, true, err
	}
	if y := parts[year]; y < 1 || y > 9999 {
		return 0, false, mongoerr.New(code, "'%s' must evaluate to an integer in the range 1 to 9999, found %d", datePartNames[year], y)
	}
	if year == partISOYear {
		return daysOfISOWeek(parts[year], parts[month], parts[day]), false, nil
	}
	return daysOf(parts[year], parts[month], parts[day]), false, nil
}

// evalParts evaluates operands in their order. ok is false if one is null or fails.
func (d *dateFromPartsExpr) evalParts(ctx *Context, parts *[partZone]int64, which ...int) (ok bool, err error) {
	for _, i := range which {
		if d.parts[i] == nil {
			if i < partHour || i > partMillisecond {
				parts[i] = 1
			}
			continue
		}
		v, err := d.parts[i].Eval(ctx)
		if err != nil || Nullish(v) {
			return false, err
		}
		n, whole := integral64(v)
		if !whole {
			return false, mongoerr.New(40515, "'%s' must evaluate to an integer, found %s with value %s", datePartNames[i], v.Type, Show(v))
		}
		if bounded := i != partYear && i != partISOYear && i != partSecond && i != partMillisecond; bounded && n != int64(int16(n)) {
			return false, mongoerr.New(31034, "'%s' must evaluate to a value in the range [%d, %d]; value %d is not in range",
				datePartNames[i], math.MinInt16, math.MaxInt16, n)
		}
		parts[i] = n
	}
	return true, nil
}

// dateToPartsExpr is $dateToParts. iso may be nil.
type dateToPartsExpr struct {
	date, iso Expr
	zone      zoneArg
}

func parseDateToParts(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	codes := namedCodes{notObject: 40524, unknown: unknownArgument{40520, unrecognizedArgument}, missing: []mongoerr.Code{40522}}
	args, err := p.parseNamedLate(def, arg, vars, codes, 1, []string{"date", "timezone", "iso8601"})
	if err != nil {
		return nil, err
	}
	return &dateToPartsExpr{args[0], args[2], compileZone("", args[1], operandFailures(args, vars))}, nil
}

func (d *dateToPartsExpr) Children() []Expr { return present([]Expr{d.date, d.zone.expr, d.iso}) }

func (d *dateToPartsExpr) Eval(ctx *Context) (bsonx.Value, error) {
	date, err := d.date.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	zone, err := d.zone.eval(ctx)
	if err != nil || zone == nil {
		return bsonx.Null, err
	}
	iso := false
	if d.iso != nil {
		v, err := d.iso.Eval(ctx)
		if err != nil || Nullish(v) {
			return bsonx.Null, err
		}
		if v.Type != bsonx.TypeBool {
			return bsonx.Missing, mongoerr.New(40521, "iso8601 must evaluate to a bool, found %s", v.Type)
		}
		iso = v.Bool()
	}
	if Nullish(date) {
		return bsonx.Null, nil
	}
	w, err := wallOf(date, zone)
	if err != nil {
		return bsonx.Missing, err
	}
	return partsOf(w, iso), nil
}

func partsOf(w wall, iso bool) bsonx.Value {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	part := func(name string, n int64) { b.Int32(name, int32(n)) }
	if iso {
		year, week := isoWeek(w.days)
		part("isoWeekYear", year)
		part("isoWeek", week)
		part("isoDayOfWeek", weekday(w.days))
	} else {
		year, month, day := dateOfDays(w.days)
		part("year", year)
		part("month", month)
		part("day", day)
	}
	part("hour", w.millis/hourMillis)
	part("minute", w.millis/minuteMillis%60)
	part("second", w.millis/secondMillis%60)
	part("millisecond", w.millis%secondMillis)
	b.End()
	return bsonx.Document(b.Bytes())
}
