package date

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// dateDiffExpr is $dateDiff.
type dateDiffExpr struct {
	start, end expr.Expr
	unit       unitArg
	zone       zoneArg
	week       weekArg
}

const dateDiffName = "$dateDiff"

func dateDiffDefinition() expr.Definition {
	return expr.Definition{
		Name: dateDiffName, Family: family, Parse: parseDateDiff,
		Arguments: []string{"startDate", "endDate", "unit", "timezone", "startOfWeek"},
		Total:     expr.No, Folds: expr.Yes, Depends: expr.OnOperands, StableAPI: expr.Yes,
	}
}

func parseDateDiff(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	named := expr.Named{
		Required: 3, NotObject: 5166301,
		Unknown: expr.UnknownArgument{Code: 5166302, Text: expr.UnrecognizedArgument},
		Missing: []mongoerr.Code{5166303, 5166304, 5166305},
	}
	args, err := p.ParseNamedLate(def, arg, vars, named)
	if err != nil {
		return nil, err
	}
	e := &dateDiffExpr{start: args[0], end: args[1]}
	failures := operandFailures(args, vars)
	e.unit = compileUnit(def.Name, args[2], failures)
	e.week = compileStartOfWeek(def.Name, args[4], failures)
	e.zone = compileZone(def.Name, args[3], failures)
	return e, nil
}

func (d *dateDiffExpr) Children() []expr.Expr {
	return expr.Present([]expr.Expr{d.start, d.end, d.unit.expr, d.zone.expr, d.week.expr})
}

func (d *dateDiffExpr) Eval(ctx *expr.Context) (bsonx.Value, error) {
	start, err := d.start.Eval(ctx)
	if err != nil || expr.Nullish(start) {
		return bsonx.Null, err
	}
	end, err := d.end.Eval(ctx)
	if err != nil || expr.Nullish(end) {
		return bsonx.Null, err
	}
	unit, err := d.unit.eval(ctx)
	if err != nil || unit == unitNone {
		return bsonx.Null, err
	}
	week := int64(sunday)
	if unit == unitWeek {
		if week, err = d.week.eval(ctx); err != nil || week == 0 {
			return bsonx.Null, err
		}
	}
	zone, err := d.zone.eval(ctx)
	if err != nil || zone == nil {
		return bsonx.Null, err
	}
	from, ok := millisOf(start)
	if !ok {
		return bsonx.Missing, notDate(dateDiffName, "startDate", start)
	}
	to, ok := millisOf(end)
	if !ok {
		return bsonx.Missing, notDate(dateDiffName, "endDate", end)
	}
	n, err := dateDiff(from, to, unit, zone, week)
	return ctx.Arena.Int64(n), err
}

func notDate(op, name string, v bsonx.Value) error {
	return mongoerr.New(5166307, "%s requires '%s' to be a date, but got %s", op, name, v.Type)
}

// dateDiff counts the boundaries of units between two dates.
func dateDiff(from, to int64, unit timeUnit, zone *time.Location, startOfWeek int64) (int64, error) {
	if unit == unitMillisecond {
		n := to - from
		if (n < to) != (from > 0) && from != 0 {
			return 0, mongoerr.New(5166308, "dateDiff overflowed")
		}
		return n, nil
	}
	a, b := wallAt(from, zone), wallAt(to, zone)
	switch unit {
	case unitDay:
		return b.days - a.days, nil
	case unitWeek:
		return weekOf(b.days, startOfWeek) - weekOf(a.days, startOfWeek), nil
	case unitHour, unitMinute, unitSecond:
		length := unit.millis()
		whole := (b.days-a.days)*(dayMillis/length) + b.millis/length - a.millis/length
		return whole + (a.offset-b.offset)*secondMillis/length, nil
	default:
		fromYear, fromMonth, _ := dateOfDays(a.days)
		toYear, toMonth, _ := dateOfDays(b.days)
		length := unit.months()
		return (toYear-fromYear)*(12/length) + (toMonth-1)/length - (fromMonth-1)/length, nil
	}
}

// weekOf numbers the weeks that begin on a day of the week.
func weekOf(days, startOfWeek int64) int64 { return floorDiv(days+3-(startOfWeek-1), 7) }
