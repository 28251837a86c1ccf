package date

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The default formats of $dateToString.
const (
	isoFormat    = "%Y-%m-%dT%H:%M:%S.%L"
	isoFormatUTC = isoFormat + "Z"
)

// The specifiers of $dateToString and $dateFromString, in addition to %%.
const (
	printSpecifiers = "bBdGHjLmMSuUVwYzZ"
	parseSpecifiers = "bBdGHjLmMSuVYzZ"
)

var monthNames = [...]string{
	"January", "February", "March", "April", "May", "June", "July", "August", "September",
	"October", "November", "December",
}

// checkFormat returns an error if a format contains a specifier that is not in allowed.
func checkFormat(format []byte, allowed string, t *expr.Task) error {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		if t.Stopped(expr.StepWork / 4) {
			return t.Err()
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

// formatArg is the argument "format". It is absent (fixed and expr are nil), constant (fixed is
// set) or an expression. The field allowed lists its specifiers.
type formatArg struct {
	op      string
	code    mongoerr.Code
	allowed string
	fixed   []byte
	expr    expr.Expr
}

// compileFormat evaluates a constant format. It ignores an invalid format, because MongoDB reports
// it only when it uses the format.
func compileFormat(arg formatArg, running *interrupt.Running) formatArg {
	if v, ok := arg.expr.(*expr.Const); ok && !expr.Nullish(v.Value) {
		if format, err := arg.check(v.Value, new(expr.Context).Converting(running)); err == nil {
			arg.fixed = format
		}
	}
	return arg
}

func (f *formatArg) check(v bsonx.Value, t *expr.Task) ([]byte, error) {
	if v.Type != bsonx.TypeString {
		return nil, mongoerr.New(f.code, "%s requires that 'format' be a string, found: %s with value %s", f.op, v.Type, expr.Show(v))
	}
	return v.StrBytes(), checkFormat(v.StrBytes(), f.allowed, t)
}

// eval returns the format, or nil if the argument is absent. null is true if the format is null or
// missing.
func (f *formatArg) eval(ctx *expr.Context, running *interrupt.Running) (format []byte, null bool, err error) {
	if f.fixed != nil || f.expr == nil {
		return f.fixed, false, nil
	}
	v, err := f.expr.Eval(ctx)
	if err != nil || expr.Nullish(v) {
		return nil, true, err
	}
	format, err = f.check(v, ctx.Converting(running))
	return format, false, err
}
