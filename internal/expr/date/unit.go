package date

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// timeUnit is a unit of date arithmetic.
type timeUnit int

const (
	unitNone timeUnit = iota
	unitYear
	unitQuarter
	unitMonth
	unitWeek
	unitDay
	unitHour
	unitMinute
	unitSecond
	unitMillisecond
)

var unitNames = [...]string{"", "year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond"}

// millis returns the length of the unit in milliseconds, or 0 if the length depends on the
// calendar.
func (u timeUnit) millis() int64 {
	return [...]int64{unitHour: hourMillis, unitMinute: minuteMillis, unitSecond: secondMillis, unitMillisecond: 1}[u]
}

// months returns the length of the unit in months, or 0 for a unit shorter than a month.
func (u timeUnit) months() int64 {
	return [...]int64{unitYear: 12, unitQuarter: 3, unitMonth: 1, unitMillisecond: 0}[u]
}

// unitArg is the argument "unit": constant (fixed is set) or an expression.
type unitArg struct {
	op    string
	fixed timeUnit
	expr  expr.Expr
}

func compileUnit(op string, e expr.Expr, failures *expr.Failures) unitArg {
	arg := unitArg{op: op, expr: e}
	if v, ok := expr.ConstValue(e); ok && !expr.Nullish(v) {
		var err error
		arg.fixed, err = unitOf(op, v)
		failures.Add(err)
	}
	return arg
}

// eval returns the unit, or unitNone if it is null.
func (u unitArg) eval(ctx *expr.Context) (timeUnit, error) {
	if u.fixed != unitNone {
		return u.fixed, nil
	}
	v, err := u.expr.Eval(ctx)
	if err != nil || expr.Nullish(v) {
		return unitNone, err
	}
	return unitOf(u.op, v)
}

func unitOf(op string, v bsonx.Value) (timeUnit, error) {
	if v.Type != bsonx.TypeString {
		return unitNone, mongoerr.New(5439013, "%s requires 'unit' to be a string, but got %s", op, v.Type)
	}
	for i, name := range unitNames[1:] {
		if string(v.StrBytes()) == name {
			return timeUnit(i + 1), nil
		}
	}
	return unitNone, mongoerr.New(mongoerr.FailedToParse,
		"%s parameter 'unit' value parsing failed :: caused by :: unknown time unit value: %s", op, v.Str())
}

// weekArg is the argument "startOfWeek", from 1 for Monday to 7 for Sunday: constant (fixed is set)
// or an expression.
type weekArg struct {
	op    string
	fixed int64
	expr  expr.Expr
}

const sunday = 7

func compileStartOfWeek(op string, e expr.Expr, failures *expr.Failures) weekArg {
	arg := weekArg{op: op, expr: e}
	if e == nil {
		arg.fixed = sunday
		return arg
	}
	if v, ok := expr.ConstValue(e); ok && !expr.Nullish(v) {
		var err error
		arg.fixed, err = startOfWeekOf(op, v)
		failures.Add(err)
	}
	return arg
}

// operandFailures returns the Failures for errors in constant arguments. It returns nil if all
// arguments are constant: MongoDB then evaluates the whole operator in evaluation order, in which a
// null date hides an invalid unit.
func operandFailures(args []expr.Expr, vars *expr.Vars) *expr.Failures {
	if expr.AllConst(args) {
		return nil
	}
	return vars.Failures()
}

// eval returns the day, or 0 if it is null.
func (w weekArg) eval(ctx *expr.Context) (int64, error) {
	if w.fixed != 0 {
		return w.fixed, nil
	}
	v, err := w.expr.Eval(ctx)
	if err != nil || expr.Nullish(v) {
		return 0, err
	}
	return startOfWeekOf(w.op, v)
}

func startOfWeekOf(op string, v bsonx.Value) (int64, error) {
	if v.Type != bsonx.TypeString {
		return 0, mongoerr.New(5439015, "%s requires 'startOfWeek' to be a string, but got %s", op, v.Type)
	}
	text := strings.ToLower(v.Str())
	for i, name := range [...]string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"} {
		if text == name || text == name[:3] {
			return int64(i + 1), nil
		}
	}
	return 0, mongoerr.New(5439016, "%s parameter 'startOfWeek' value cannot be recognized as a day of a week: %s", op, v.Str())
}

// millisOf converts a date, timestamp or ObjectId to milliseconds since 1970. ok is false for other
// types.
func millisOf(v bsonx.Value) (int64, bool) {
	if v.Type == bsonx.TypeDate {
		return v.Int64(), true
	}
	t, err := DateOf(v)
	return t.UnixMilli(), err == nil
}
