package date

import (
	"encoding/binary"
	"strconv"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// dateToStringExpr is $dateToString. onNull is nil if absent.
type dateToStringExpr struct {
	date, onNull expr.Expr
	format       formatArg
	zone         zoneArg
	running      *interrupt.Running // signals interrupts of the operation; nil never does
}

func dateToStringDefinition() expr.Definition {
	return expr.Definition{
		Name: "$dateToString", Family: family, Parse: parseDateToString,
		Arguments: []string{"date", "format", "timezone", "onNull"},
		Total:     feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func parseDateToString(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	named := expr.Named{
		Required: 1, NotObject: 18629,
		Unknown: expr.UnknownArgument{Code: 18534, Text: expr.UnrecognizedArgument},
		Missing: []mongoerr.Code{18628},
	}
	args, err := p.ParseNamedLate(def, arg, vars, named)
	if err != nil {
		return nil, err
	}
	e := &dateToStringExpr{date: args[0], onNull: args[3], running: vars.Scripts().Running}
	e.format = compileFormat(formatArg{op: def.Name, code: 18533, allowed: printSpecifiers, expr: args[1]}, e.running)
	e.zone = compileZone("", args[2], operandFailures(args, vars))
	return e, nil
}

func (d *dateToStringExpr) Children() []expr.Expr {
	return expr.Present([]expr.Expr{d.date, d.format.expr, d.zone.expr, d.onNull})
}

func (d *dateToStringExpr) Eval(ctx *expr.Context) (bsonx.Value, error) {
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
	if expr.Nullish(date) {
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
	text, err := formatDate(w, format, ctx.Converting(d.running))
	if err == nil {
		err = expr.CheckText(len(text.Data))
	}
	return text, err
}

func defaultFormat(zone *time.Location) []byte {
	if zone == time.UTC {
		return []byte(isoFormatUTC)
	}
	return []byte(isoFormat)
}

// formatDate formats a date as a new BSON string. It fails if the operation was interrupted, or if
// the year is not from 0 to 9999.
func formatDate(w wall, format []byte, t *expr.Task) (bsonx.Value, error) {
	out := make([]byte, 4, 2*len(format)+8)
	year, month, day := dateOfDays(w.days)
	for i := 0; i < len(format); i++ {
		c := format[i]
		if t.Stopped(expr.StepWork / 2) {
			return bsonx.Missing, t.Err()
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

// appendDatePart appends the value of a specifier that does not depend on year, month or day.
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
