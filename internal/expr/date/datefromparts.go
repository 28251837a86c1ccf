package date

import (
	"math"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The positions of the arguments of $dateFromParts in datePartNames.
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
	"year", "month", "day", "hour", "minute", "second", "millisecond", "isoWeekYear",
	"isoWeek", "isoDayOfWeek", "timezone",
}

// dateFromPartsExpr is $dateFromParts. Absent arguments are nil.
type dateFromPartsExpr struct {
	parts []expr.Expr
	zone  zoneArg
}

func dateFromPartsDefinition() expr.Definition {
	return expr.Definition{
		Name: "$dateFromParts", Family: family, Parse: parseDateFromParts,
		Arguments: []string{
			"year", "month", "day", "hour", "minute", "second", "millisecond",
			"isoWeekYear", "isoWeek", "isoDayOfWeek", "timezone",
		},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func parseDateFromParts(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(40519, "%s only supports an object as its argument", def.Name)
	}
	raw, err := expr.RawArgs(arg,
		expr.UnknownArgument{Code: 40518, Text: expr.UnrecognizedArgument}, def.Name, datePartNames...)
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
	args, err := p.ArgsIn(expr.FromLast(len(raw)), raw, vars)
	if err != nil {
		return nil, err
	}
	return &dateFromPartsExpr{args[:partZone], compileZone("", args[partZone], operandFailures(args, vars))}, nil
}

func (d *dateFromPartsExpr) Children() []expr.Expr {
	return append(expr.Present(d.parts), expr.Present([]expr.Expr{d.zone.expr})...)
}

func (d *dateFromPartsExpr) Eval(ctx *expr.Context) (bsonx.Value, error) {
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
	// MongoDB computes in microseconds, so an overflow in microseconds counts too.
	_, over4 := mulOverflows(parts[partMillisecond], 1000)
	out, ok := instant(days, millis, zone, false)
	if over1 || over2 || over3 || over4 || !ok {
		return bsonx.Missing, mongoerr.New(mongoerr.DurationOverflow,
			"Overflow casting from a lower-precision duration to a higher-precision duration")
	}
	return ctx.Arena.Date(out), nil
}

// day evaluates the arguments for the day, either year, month and day or the ISO 8601 week date. It
// returns days since 1970. null is true if one of them is null or fails.
func (d *dateFromPartsExpr) day(ctx *expr.Context, parts *[partZone]int64) (days int64, null bool, err error) {
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

// evalParts evaluates the arguments at the given positions, in this order. ok is false if one of
// them is null or fails.
func (d *dateFromPartsExpr) evalParts(ctx *expr.Context, parts *[partZone]int64, which ...int) (ok bool, err error) {
	for _, i := range which {
		if d.parts[i] == nil {
			if i < partHour || i > partMillisecond {
				parts[i] = 1
			}
			continue
		}
		v, err := d.parts[i].Eval(ctx)
		if err != nil || expr.Nullish(v) {
			return false, err
		}
		n, whole := integral64(v)
		if !whole {
			return false, mongoerr.New(40515, "'%s' must evaluate to an integer, found %s with value %s",
				datePartNames[i], v.Type, expr.Show(v))
		}
		if bounded := i != partYear && i != partISOYear && i != partSecond &&
			i != partMillisecond; bounded && n != int64(int16(n)) {
			return false, mongoerr.New(31034, "'%s' must evaluate to a value in the range [%d, %d]; value %d is not in range",
				datePartNames[i], math.MinInt16, math.MaxInt16, n)
		}
		parts[i] = n
	}
	return true, nil
}
