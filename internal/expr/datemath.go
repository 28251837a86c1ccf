package expr

import (
	"math"
	"strings"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// timeUnit is a unit of the date arithmetic.
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

// millis returns the length of a unit that always has the same, and 0 for those that depend on the calendar.
func (u timeUnit) millis() int64 {
	return [...]int64{unitHour: hourMillis, unitMinute: minuteMillis, unitSecond: secondMillis, unitMillisecond: 1}[u]
}

// months returns how many months a unit has, 0 for the smaller ones.
func (u timeUnit) months() int64 {
	return [...]int64{unitYear: 12, unitQuarter: 3, unitMonth: 1, unitMillisecond: 0}[u]
}

// unitArg is an operand that names a unit: known at parse time, or an expression.
type unitArg struct {
	op    string
	fixed timeUnit
	expr  Expr
}

func compileUnit(op string, e Expr, failures *Failures) unitArg {
	arg := unitArg{op: op, expr: e}
	if v, ok := ConstValue(e); ok && !Nullish(v) {
		var err error
		arg.fixed, err = unitOf(op, v)
		failures.Add(err)
	}
	return arg
}

// eval returns the unit, or unitNone where it is null.
func (u unitArg) eval(ctx *Context) (timeUnit, error) {
	if u.fixed != unitNone {
		return u.fixed, nil
	}
	v, err := u.expr.Eval(ctx)
	if err != nil || Nullish(v) {
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

// weekArg is the operand startOfWeek: 1 for Monday to 7 for Sunday, known at parse time, or an expression.
type weekArg struct {
	op    string
	fixed int64
	expr  Expr
}

const sunday = 7

func compileStartOfWeek(op string, e Expr, failures *Failures) weekArg {
	arg := weekArg{op: op, expr: e}
	if e == nil {
		arg.fixed = sunday
		return arg
	}
	if v, ok := ConstValue(e); ok && !Nullish(v) {
		var err error
		arg.fixed, err = startOfWeekOf(op, v)
		failures.Add(err)
	}
	return arg
}

// operandFailures is what notes the constant operands that are wrong. Where all are constant nothing does: such an operator
// is computed whole, in the order of its evaluation, in which a null date hides a bad unit.
func operandFailures(args []Expr, vars *Vars) *Failures {
	if allConst(args) {
		return nil
	}
	return vars.Failures()
}

// eval returns the day, or 0 where it is null.
func (w weekArg) eval(ctx *Context) (int64, error) {
	if w.fixed != 0 {
		return w.fixed, nil
	}
	v, err := w.expr.Eval(ctx)
	if err != nil || Nullish(v) {
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

// millisOf returns a date, timestamp or ObjectId in milliseconds since 1970.
func millisOf(v bsonx.Value) (int64, bool) {
	if v.Type == bsonx.TypeDate {
		return v.Int64(), true
	}
	t, err := dateOf(v)
	return t.UnixMilli(), err == nil
}

// dateAddExpr is $dateAdd and $dateSubtract; sign is -1 for the latter.
type dateAddExpr struct {
	name   string
	sign   int64
	start  Expr
	unit   unitArg
	amount Expr
	zone   zoneArg
}

func dateArithmetic(name string, sign int64) Definition {
	return Definition{
		Name: name, Family: dateFamily, min: 1, max: 1,
		Parse: func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			if arg.Type != bsonx.TypeDocument {
				return nil, mongoerr.New(5166400, "%s expects an object as its argument", def.Name)
			}
			args, err := p.namedArgs(arg, vars, unknownArgument{5166401, unrecognizedArgument + ". Expected arguments are startDate, unit, amount, and optionally timezone."}, def.Name, "startDate", "unit", "amount", "timezone")
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

func (d *dateAddExpr) Children() []Expr {
	return present([]Expr{d.start, d.unit.expr, d.amount, d.zone.expr})
}

func (d *dateAddExpr) Eval(ctx *Context) (bsonx.Value, error) {
	start, err := d.start.Eval(ctx)
	if err != nil || Nullish(start) {
		return bsonx.Null, err
	}
	unit, err := d.unit.eval(ctx)
	if err != nil || unit == unitNone {
		return bsonx.Null, err
	}
	amount, err := d.amount.Eval(ctx)
	if err != nil || Nullish(amount) {
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
	return ctx.arena.Date(out), err
}

// integral64 returns a number that is a whole int64.
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

// maxAmount bounds what can be added, by unit: more leaves the range of dates from anywhere.
func maxAmount(unit timeUnit) int64 {
	const days = math.MaxUint64/dayMillis + 1
	return [...]int64{
		unitYear: days / 365, unitQuarter: days / 365 * 4, unitMonth: days / 365 * 12, unitWeek: days / 7, unitDay: days,
		unitHour: days * 24, unitMinute: days * 24 * 60, unitSecond: days * daySeconds, unitMillisecond: math.MaxInt64,
	}[unit]
}

// dateAdd moves a date by an amount of units. Days and longer units keep the time of day of the zone; a day that a month
// does not have becomes its last.
func dateAdd(millis int64, unit timeUnit, amount int64, zone *time.Location) (int64, error) {
	if unit != unitMillisecond && (amount >= maxAmount(unit) || amount <= -maxAmount(unit)) {
		return 0, mongoerr.New(5976500, "invalid dateAdd 'amount' parameter value: %d %s", amount, unitNames[unit])
	}
	if unit == unitMillisecond {
		sum, over := addOverflows(millis, amount)
		if over {
			return 0, mongoerr.New(mongoerr.DurationOverflow, "Overflow while adding %dms to %dms", amount, millis+amount) // MongoDB shows what it got
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

// dateDiffExpr is $dateDiff.
type dateDiffExpr struct {
	start, end Expr
	unit       unitArg
	zone       zoneArg
	week       weekArg
}

const dateDiffName = "$dateDiff"

func parseDateDiff(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	codes := namedCodes{notObject: 5166301, unknown: unknownArgument{5166302, unrecognizedArgument}, missing: []mongoerr.Code{5166303, 5166304, 5166305}}
	args, err := p.parseNamedLate(def, arg, vars, codes, 3, []string{"startDate", "endDate", "unit", "timezone", "startOfWeek"})
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

func (d *dateDiffExpr) Children() []Expr {
	return present([]Expr{d.start, d.end, d.unit.expr, d.zone.expr, d.week.expr})
}

func (d *dateDiffExpr) Eval(ctx *Context) (bsonx.Value, error) {
	start, err := d.start.Eval(ctx)
	if err != nil || Nullish(start) {
		return bsonx.Null, err
	}
	end, err := d.end.Eval(ctx)
	if err != nil || Nullish(end) {
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
	return ctx.arena.Int64(n), err
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
