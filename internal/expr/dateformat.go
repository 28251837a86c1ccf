package expr

import (
	"encoding/binary"
	"strconv"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The formats of $dateToString without one.
const (
	isoFormat    = "%Y-%m-%dT%H:%M:%S.%L"
	isoFormatUTC = isoFormat + "Z"
)

// The specifiers that $dateToString and $dateFromString know, besides %%.
const (
	printSpecifiers = "bBdGHjLmMSuUVwYzZ"
	parseSpecifiers = "bBdGHjLmMSuVYzZ"
)

var monthNames = [...]string{
	"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
}

// checkFormat refuses a format with specifiers that are not among those allowed.
func checkFormat(format []byte, allowed string, t *task) error {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		if t.stopped(stepWork / 4) {
			return t.err()
		}
		if i++; i == len(format) {
			return mongoerr.New(18535, "Unmatched '%c' at end of format string", '%')
		}
		if format[i] != '%' && !hasByte(allowed, format[i]) {
			return mongoerr.New(18536, "Invalid format character '%%%c' in format string", format[i])
		}
	}
	return nil
}

func hasByte(set string, c byte) bool {
	for i := range len(set) {
		if set[i] == c {
			return true
		}
	}
	return false
}

// formatArg is the operand format: none, known at parse time, or an expression.
type formatArg struct {
	op      string
	code    mongoerr.Code
	allowed string
	fixed   []byte
	expr    Expr
}

// compileFormat prepares a constant. MongoDB looks at a format only where it uses it: a bad one is no error until then.
func compileFormat(arg formatArg, running *interrupt.Running) formatArg {
	if v, ok := arg.expr.(*Const); ok && !Nullish(v.Value) {
		if format, err := arg.check(v.Value, new(Context).converting(running)); err == nil {
			arg.fixed = format
		}
	}
	return arg
}

func (f *formatArg) check(v bsonx.Value, t *task) ([]byte, error) {
	if v.Type != bsonx.TypeString {
		return nil, mongoerr.New(f.code, "%s requires that 'format' be a string, found: %s with value %s", f.op, v.Type, Show(v))
	}
	return v.StrBytes(), checkFormat(v.StrBytes(), f.allowed, t)
}

// eval returns the format; null where it is null or missing. Without the operand the format is nil.
func (f *formatArg) eval(ctx *Context, running *interrupt.Running) (format []byte, null bool, err error) {
	if f.fixed != nil || f.expr == nil {
		return f.fixed, false, nil
	}
	v, err := f.expr.Eval(ctx)
	if err != nil || Nullish(v) {
		return nil, true, err
	}
	format, err = f.check(v, ctx.converting(running))
	return format, false, err
}

// dateToStringExpr is $dateToString. onNull may be nil.
type dateToStringExpr struct {
	date, onNull Expr
	format       formatArg
	zone         zoneArg
	running      *interrupt.Running // the operation; nil never ends
}

func parseDateToString(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	codes := namedCodes{notObject: 18629, unknown: unknownArgument{18534, unrecognizedArgument}, missing: []mongoerr.Code{18628}}
	args, err := p.parseNamedLate(def, arg, vars, codes, 1, []string{"date", "format", "timezone", "onNull"})
	if err != nil {
		return nil, err
	}
	e := &dateToStringExpr{date: args[0], onNull: args[3], running: vars.Scripts().Running}
	e.format = compileFormat(formatArg{op: def.Name, code: 18533, allowed: printSpecifiers, expr: args[1]}, e.running)
	e.zone = compileZone("", args[2], operandFailures(args, vars))
	return e, nil
}

func (d *dateToStringExpr) Children() []Expr {
	return present([]Expr{d.date, d.format.expr, d.zone.expr, d.onNull})
}

func (d *dateToStringExpr) Eval(ctx *Context) (bsonx.Value, error) {
	date, err := d.date.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	format, null, err := d.format.eval(ctx, d.running)
	if err != nil {
		return bsonx.Missing, err
	}
	zone, err := d.zone.eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	if Nullish(date) {
		if d.onNull != nil {
			return d.onNull.Eval(ctx)
		}
		return bsonx.Null, nil
	}
	if zone == nil || null {
		return bsonx.Null, nil
	}
	w, err := wallOf(date, zone)
	if err != nil {
		return bsonx.Missing, err
	}
	if format == nil {
		format = defaultFormat(zone)
	}
	text, err := formatDate(w, format, ctx.converting(d.running))
	if err == nil {
		err = checkText(len(text.Data))
	}
	return text, err
}

func defaultFormat(zone *time.Location) []byte {
	if zone == time.UTC {
		return []byte(isoFormatUTC)
	}
	return []byte(isoFormat)
}

// formatDate prints a date into a new string value.
func formatDate(w wall, format []byte, t *task) (bsonx.Value, error) {
	out := make([]byte, 4, 2*len(format)+8)
	year, month, day := dateOfDays(w.days)
	for i := 0; i < len(format); i++ {
		c := format[i]
		if t.stopped(stepWork / 2) {
			return bsonx.Missing, t.err()
		}
		if c != '%' {
			out = append(out, c)
			continue
		}
		i++
		switch format[i] {
		case 'd':
			out = appendPadded(out, day, 2)
		case 'm':
			out = appendPadded(out, month, 2)
		case 'b':
			out = append(out, monthNames[month-1][:3]...)
		case 'B':
			out = append(out, monthNames[month-1]...)
		case 'Y', 'G':
			y := year
			if format[i] == 'G' {
				y, _ = isoWeek(w.days)
			}
			if y < 0 || y > 9999 {
				return bsonx.Missing, mongoerr.New(18537,
					"Could not convert date to string: date component was outside the supported range of 0-9999: %d", y)
			}
			out = appendPadded(out, y, 4)
		default:
			out = appendDatePart(out, w, format[i])
		}
	}
	binary.LittleEndian.PutUint32(out, uint32(len(out)-3))
	return bsonx.Value{Type: bsonx.TypeString, Data: append(out, 0)}, nil
}

// appendDatePart prints what needs no year, month or day.
func appendDatePart(out []byte, w wall, specifier byte) []byte {
	switch specifier {
	case 'H':
		return appendPadded(out, w.millis/hourMillis, 2)
	case 'M':
		return appendPadded(out, w.millis/minuteMillis%60, 2)
	case 'S':
		return appendPadded(out, w.millis/secondMillis%60, 2)
	case 'L':
		return appendPadded(out, w.millis%secondMillis, 3)
	case 'j':
		return appendPadded(out, dayOfYear(w.days), 3)
	case 'u':
		return appendPadded(out, weekday(w.days), 1)
	case 'w':
		return appendPadded(out, weekday(w.days)%7+1, 1)
	case 'U':
		return appendPadded(out, sundayWeek(w.days), 2)
	case 'V':
		_, week := isoWeek(w.days)
		return appendPadded(out, week, 2)
	case 'z':
		minutes, sign := w.offset/60, byte('+')
		if minutes < 0 {
			minutes, sign = -minutes, '-'
		}
		out = appendPadded(append(out, sign), minutes/60, 2)
		return appendPadded(out, minutes%60, 2)
	case 'Z':
		return strconv.AppendInt(out, w.offset/60, 10)
	default:
		return append(out, specifier)
	}
}

func appendPadded(out []byte, n int64, width int) []byte {
	limit := int64(1)
	for range width - 1 {
		limit *= 10
	}
	for ; limit > n && limit > 1; limit /= 10 {
		out = append(out, '0')
	}
	return strconv.AppendInt(out, n, 10)
}
