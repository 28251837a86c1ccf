package date

import (
	"math"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// dateAddExpr is $dateAdd (sign 1) or $dateSubtract (sign -1).
type dateAddExpr struct {
	name   string
	sign   int64
	start  expr.Expr
	unit   unitArg
	amount expr.Expr
	zone   zoneArg
}

func dateAddDefinition() expr.Definition      { return dateArithmetic("$dateAdd", 1) }
func dateSubtractDefinition() expr.Definition { return dateArithmetic("$dateSubtract", -1) }

func dateArithmetic(name string, sign int64) expr.Definition {
	return expr.Definition{
		Name: name, Family: family, Arguments: []string{"startDate", "unit", "amount", "timezone"},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
		Parse: func(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
			if arg.Type != bsonx.TypeDocument {
				return nil, mongoerr.New(5166400, "%s expects an object as its argument", def.Name)
			}
			args, err := p.NamedArgs(arg, vars, expr.UnknownArgument{Code: 5166401, Text: expr.UnrecognizedArgument + ". Expected arguments are startDate, unit, amount, and optionally timezone."}, def.Name, "startDate", "unit", "amount", "timezone")
			if err != nil {
				return nil, err
			}
			if args[0] == nil || args[1] == nil || args[2] == nil {
				return nil, mongoerr.New(5166402, "%s requires startDate, unit, and amount to be present", def.Name)
			}
			e := &dateAddExpr{name: name, sign: sign, start: args[0], amount: args[2]}
			failures := operandFailures(args, vars)
			e.unit = compileUnit(name, args[1], failures)
			e.zone = compileZone("", args[3], failures)
			return e, nil
		},
	}
}

func (d *dateAddExpr) Children() []expr.Expr {
	return expr.Present([]expr.Expr{d.start, d.unit.expr, d.amount, d.zone.expr})
}

func (d *dateAddExpr) Eval(ctx *expr.Context) (bsonx.Value, error) {
	start, err := d.start.Eval(ctx)
	if err != nil || expr.Nullish(start) {
		return bsonx.Null, err
	}
	unit, err := d.unit.eval(ctx)
	if err != nil || unit == unitNone {
		return bsonx.Null, err
	}
	amount, err := d.amount.Eval(ctx)
	if err != nil || expr.Nullish(amount) {
		return bsonx.Null, err
	}
	zone, err := d.zone.eval(ctx)
	if err != nil || zone == nil {
		return bsonx.Null, err
	}
	millis, ok := millisOf(start)
	if !ok {
		return bsonx.Missing, mongoerr.New(5166403, "%s requires startDate to be convertible to a date", d.name)
	}
	n, ok := integral64(amount)
	if !ok {
		return bsonx.Missing, mongoerr.New(5166405, "%s expects integer amount of time units", d.name)
	}
	if d.sign < 0 && n == math.MinInt64 {
		return bsonx.Missing, mongoerr.New(6045000, "invalid %s 'amount' parameter value: %d", d.name, n)
	}
	out, err := dateAdd(millis, unit, d.sign*n, zone)
	return ctx.Arena.Date(out), err
}

// integral64 returns a number as an int64. ok is false unless it is an integer in the range of
// int64.
func integral64(v bsonx.Value) (int64, bool) {
	i, ok := v.AsInt64()
	if !ok || v.Type == bsonx.TypeInt32 || v.Type == bsonx.TypeInt64 {
		return i, ok
	}
	if v.Type == bsonx.TypeDouble {
		return i, float64(i) == v.Double()
	}
	return i, bsonx.CompareValues(v, bsonx.Int64(i)) == 0
}

// maxAmount returns the limit for the amount of each unit. Adding this amount to any date leaves
// the range of dates.
func maxAmount(unit timeUnit) int64 {
	const days = math.MaxUint64/dayMillis + 1
	return [...]int64{
		unitYear: days / 365, unitQuarter: days / 365 * 4, unitMonth: days / 365 * 12,
		unitWeek: days / 7, unitDay: days,
		unitHour: days * 24, unitMinute: days * 24 * 60, unitSecond: days * daySeconds, unitMillisecond: math.MaxInt64,
	}[unit]
}

// dateAdd adds an amount of units to a date in milliseconds since 1970. Units of days or longer
// keep the local time of day in the zone. If the resulting month does not have the day, the result
// is the last day of that month.
func dateAdd(millis int64, unit timeUnit, amount int64, zone *time.Location) (int64, error) {
	if unit != unitMillisecond && (amount >= maxAmount(unit) || amount <= -maxAmount(unit)) {
		return 0, mongoerr.New(5976500, "invalid dateAdd 'amount' parameter value: %d %s", amount, unitNames[unit])
	}
	if unit == unitMillisecond {
		sum, over := addOverflows(millis, amount)
		if over {
			// MongoDB shows the overflowed sum
			return 0, mongoerr.New(mongoerr.DurationOverflow,
				"Overflow while adding %dms to %dms", amount, millis+amount)
		}
		return sum, nil
	}
	if length := unit.millis(); length > 0 {
		seconds := floorDiv(millis, secondMillis) + amount*(length/secondMillis)
		sum := seconds*secondMillis + floorMod(millis, secondMillis)
		if floorDiv(sum, secondMillis) != seconds {
			return 0, dateAddOverflow()
		}
		return sum, nil
	}
	w := wallAt(millis, zone)
	days := w.days
	switch unit {
	case unitDay:
		days += amount
	case unitWeek:
		days += amount * 7
	default:
		days = addMonths(w.days, amount*unit.months())
	}
	if days == w.days {
		return millis, nil
	}
	out, ok := instant(days, w.millis, zone, w.dst)
	if !ok {
		return 0, dateAddOverflow()
	}
	return out, nil
}

func dateAddOverflow() error { return mongoerr.New(5166406, "dateAdd overflowed") }

func addMonths(days, amount int64) int64 {
	year, month, day := dateOfDays(days)
	month += amount
	first := daysOf(year, month, 1)
	return first + min(day, daysOf(year, month+1, 1)-first) - 1
}
