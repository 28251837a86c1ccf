package date

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// referenceDays is 2000-01-01, the start of the first bin, in days since 1970.
const referenceDays = 10957

// dateTruncExpr is $dateTrunc.
type dateTruncExpr struct {
	date       expr.Expr
	bin        expr.Expr // the argument binSize; nil means 1
	size       int64
	boundaries boundaryArgs
}

func dateTruncDefinition() expr.Definition {
	return expr.Definition{
		Name: "$dateTrunc", Family: family, Parse: parseDateTrunc,
		Arguments: []string{"date", "unit", "binSize", "timezone", "startOfWeek"},
		Total:     feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func parseDateTrunc(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	named := expr.Named{
		Required: 2, NotObject: 5439007,
		Unknown: expr.UnknownArgument{Code: 5439008, Text: expr.UnrecognizedArgument + ". Expected arguments are date, unit, and optionally, binSize, timezone, startOfWeek"},
		Missing: []mongoerr.Code{5439009, 5439010},
	}
	args, err := p.ParseNamedLate(def, arg, vars, named)
	if err != nil {
		return nil, err
	}
	e := &dateTruncExpr{date: args[0], bin: args[2]}
	if e.bin == nil {
		e.size = 1
	}
	failures := operandFailures(args, vars)
	e.boundaries = compileBoundaries(def.Name, args[1], args[3], args[4], failures)
	if v, ok := e.bin.(*expr.Const); ok && !expr.Nullish(v.Value) {
		e.size, err = binSizeOf(v.Value)
		failures.Add(err)
	}
	return e, nil
}

func binSizeOf(v bsonx.Value) (int64, error) {
	n, ok := integral64(v)
	if !ok {
		return 0, mongoerr.New(5439017, "$dateTrunc requires 'binSize' to be a 64-bit integer, but got value '%s' of type %s", expr.Show(v), v.Type)
	}
	if n <= 0 {
		return 0, mongoerr.New(5439018, "$dateTrunc requires 'binSize' to be greater than 0, but got value %d", n)
	}
	return n, nil
}

func (d *dateTruncExpr) Children() []expr.Expr {
	return expr.Present([]expr.Expr{
		d.date, d.boundaries.unit.expr, d.bin,
		d.boundaries.zone.expr, d.boundaries.week.expr,
	})
}

func (d *dateTruncExpr) Eval(ctx *expr.Context) (bsonx.Value, error) {
	date, err := d.date.Eval(ctx)
	if err != nil || expr.Nullish(date) {
		return bsonx.Null, err
	}
	size := d.size
	if size == 0 {
		v, err := d.bin.Eval(ctx)
		if err != nil || expr.Nullish(v) {
			return bsonx.Null, err
		}
		if size, err = binSizeOf(v); err != nil {
			return bsonx.Missing, err
		}
	}
	in, ok, err := d.boundaries.eval(ctx)
	if err != nil || !ok {
		return bsonx.Null, err
	}
	millis, ok := millisOf(date)
	if !ok {
		return bsonx.Missing, notDate("$dateTrunc", "date", date)
	}
	out, err := dateTrunc(millis, in.unit, size, in.zone, in.startOfWeek)
	return ctx.Arena.Date(out), err
}

// dateTrunc returns the start of the bin that contains a date. Bins begin at 2000-01-01 in the
// zone. Bins of weeks begin at the first startOfWeek of that year.
func dateTrunc(millis int64, unit timeUnit, size int64, zone *time.Location, startOfWeek int64) (int64, error) {
	if length := unit.millis(); length > 0 {
		bin, over := mulOverflows(size, length)
		if over {
			return 0, mongoerr.New(5439002, "dateTrunc overflowed")
		}
		start, _ := instant(referenceDays, 0, zone, false)
		distance, over := addOverflows(millis, -start)
		out, low := addOverflows(start, floorDiv(distance, bin)*bin)
		if over || low {
			return 0, mongoerr.New(5439004, "dateTrunc overflowed")
		}
		return out, nil
	}
	if size > limits.BinSize {
		return 0, mongoerr.New(5439006, "dateTrunc unsupported binSize value")
	}
	w := wallAt(millis, zone)
	days := int64(referenceDays)
	switch unit {
	case unitDay:
		days += floorDiv(w.days-days, size) * size
	case unitWeek:
		days += floorMod(startOfWeek-weekday(days), 7)
		days += floorDiv(w.days-days, size*7) * size * 7
	default:
		year, month, _ := dateOfDays(w.days)
		bin := size * unit.months()
		days = daysOf(2000, 1+floorDiv((year-2000)*12+month-1, bin)*bin, 1)
	}
	out, ok := instant(days, 0, zone, referenceDST(zone))
	if !ok {
		return 0, dateAddOverflow()
	}
	return out, nil
}

// referenceDST reports whether the zone has daylight saving time at the start of 2000. It selects
// one of the two midnights if that local time occurs twice.
func referenceDST(zone *time.Location) bool {
	return zone != time.UTC && time.Date(2000, 1, 1, 0, 0, 0, 0, zone).IsDST()
}
