package date

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// datePartExpr is an operator that returns one part of a date in a time zone, such as $year.
type datePartExpr struct {
	date expr.Expr
	zone zoneArg
	part func(wall) int64
	long bool
}

func (d *datePartExpr) Children() []expr.Expr { return expr.Present([]expr.Expr{d.date, d.zone.expr}) }

func (d *datePartExpr) Eval(ctx *expr.Context) (bsonx.Value, error) {
	date, err := d.date.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	if expr.Nullish(date) {
		return bsonx.Null, nil
	}
	millis, ok := millisOf(date)
	if !ok {
		_, err := DateOf(date)
		return bsonx.Missing, err
	}
	zone, err := d.zone.eval(ctx)
	if err != nil || zone == nil {
		return bsonx.Null, err
	}
	w := wallAt(millis, zone)
	if d.long {
		return ctx.Arena.Int64(d.part(w)), nil
	}
	return ctx.Arena.Int32(int32(d.part(w))), nil
}

func yearDefinition() expr.Definition {
	return datePart("$year", func(w wall) int64 { year, _, _ := dateOfDays(w.days); return year }, false)
}

func monthDefinition() expr.Definition {
	return datePart("$month", func(w wall) int64 { _, month, _ := dateOfDays(w.days); return month }, false)
}

func dayOfMonthDefinition() expr.Definition {
	return datePart("$dayOfMonth", func(w wall) int64 { _, _, day := dateOfDays(w.days); return day }, false)
}

func hourDefinition() expr.Definition {
	return datePart("$hour", func(w wall) int64 { return w.millis / hourMillis }, false)
}

func minuteDefinition() expr.Definition {
	return datePart("$minute", func(w wall) int64 { return w.millis / minuteMillis % 60 }, false)
}

func secondDefinition() expr.Definition {
	return datePart("$second", func(w wall) int64 { return w.millis / secondMillis % 60 }, false)
}

func millisecondDefinition() expr.Definition {
	return datePart("$millisecond", func(w wall) int64 { return w.millis % secondMillis }, false)
}

func dayOfWeekDefinition() expr.Definition {
	return datePart("$dayOfWeek", func(w wall) int64 { return weekday(w.days)%7 + 1 }, false)
}

func dayOfYearDefinition() expr.Definition {
	return datePart("$dayOfYear", func(w wall) int64 { return dayOfYear(w.days) }, false)
}

func weekDefinition() expr.Definition {
	return datePart("$week", func(w wall) int64 { return sundayWeek(w.days) }, false)
}

func isoDayOfWeekDefinition() expr.Definition {
	return datePart("$isoDayOfWeek", func(w wall) int64 { return weekday(w.days) }, false)
}

func isoWeekDefinition() expr.Definition {
	return datePart("$isoWeek", func(w wall) int64 { _, week := isoWeek(w.days); return week }, false)
}

func isoWeekYearDefinition() expr.Definition {
	return datePart("$isoWeekYear", func(w wall) int64 { year, _ := isoWeek(w.days); return year }, true)
}

// datePart defines an operator that returns a part of a date. Its argument is a date or {date,
// timezone}. The result is a long if long is true, and otherwise an int.
func datePart(name string, part func(wall) int64, long bool) expr.Definition {
	return expr.Definition{
		Name: name, Family: family, Form: datePartForm,
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
		Parse: func(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
			args, err := dateArguments(p, def, arg, vars)
			if err != nil {
				return nil, err
			}
			return &datePartExpr{args[0], compileZone("", args[1], operandFailures(args, vars)), part, long}, nil
		},
	}
}

// datePartForm returns the form for explain, in which the date always has its name.
func datePartForm(s expr.SerialScope, def *expr.Definition, arg bsonx.Value) expr.Serial {
	if expr.IsNamed(arg) && !arg.Doc().IsEmpty() {
		return s.Named(def.Name, arg.Doc(), []string{"date", "timezone"})
	}
	return s.Named(def.Name, bsonx.NewDoc("date", expr.Sole(arg)), []string{"date"})
}

// dateArguments compiles the arguments of a date part: the date, and the time zone or nil if it is
// absent.
func dateArguments(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) ([]expr.Expr, error) {
	if arg.Type == bsonx.TypeDocument && !strings.HasPrefix(string(arg.Doc().First().Key), "$") {
		args, err := p.NamedArgs(arg, vars,
			expr.UnknownArgument{Code: 40535, Text: `unrecognized option to %s: "%s"`}, def.Name, "date", "timezone")
		if err == nil && args[0] == nil {
			err = mongoerr.New(40539, "missing 'date' argument to %s, provided: %s", def.Name,
				expr.ShowElement(def.Name, arg))
		}
		return args, err
	}
	args, err := p.Operands(arg, vars)
	if err == nil && len(args) != 1 {
		err = mongoerr.New(40536, "%s accepts exactly one argument if given an array, but was given %d", def.Name, len(args))
	}
	return append(args, nil), err
}
