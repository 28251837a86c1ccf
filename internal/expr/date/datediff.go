package date

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// dateDiffExpr is $dateDiff.
type dateDiffExpr struct {
	start, end expr.Expr
	boundaries boundaryArgs
}

const dateDiffName = "$dateDiff"

func dateDiffDefinition() expr.Definition {
	return expr.Definition{
		Name: dateDiffName, Family: family, Parse: parseDateDiff,
		Arguments: []string{"startDate", "endDate", "unit", "timezone", "startOfWeek"},
		Total:     feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
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
	e.boundaries = compileBoundaries(def.Name, args[2], args[3], args[4], operandFailures(args, vars))
	return e, nil
}

func (d *dateDiffExpr) Children() []expr.Expr {
	return expr.Present([]expr.Expr{
		d.start, d.end, d.boundaries.unit.expr,
		d.boundaries.zone.expr, d.boundaries.week.expr,
	})
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
	in, ok, err := d.boundaries.eval(ctx)
	if err != nil || !ok {
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
	n, err := dateDiff(from, to, in.unit, in.zone, in.startOfWeek)
	return ctx.Arena.Int64(n), err
}

// dateDiff returns the number of unit boundaries between two dates in milliseconds since 1970.
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

// weekOf numbers weeks that begin on startOfWeek.
func weekOf(days, startOfWeek int64) int64 { return floorDiv(days+3-(startOfWeek-1), 7) }
