package date

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// dateFromStringExpr is $dateFromString. onError and onNull are nil if absent.
type dateFromStringExpr struct {
	text, onError, onNull expr.Expr
	format                formatArg
	zone                  zoneArg
	running               *interrupt.Running // signals interrupts of the operation; nil never does
}

func dateFromStringDefinition() expr.Definition {
	return expr.Definition{
		Name: "$dateFromString", Family: family, Parse: parseDateFromString,
		Arguments: []string{"dateString", "timezone", "format", "onNull", "onError"},
		Total:     feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func parseDateFromString(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	named := expr.Named{
		Required:  1,
		NotObject: 40540, Unknown: expr.UnknownArgument{Code: 40541, Text: expr.UnrecognizedArgument},
		Missing:       []mongoerr.Code{40542},
		NotObjectText: "%s only supports an object as an argument, found: %s",
	}
	args, err := p.ParseNamedLate(def, arg, vars, named)
	if err != nil {
		return nil, err
	}
	e := &dateFromStringExpr{text: args[0], onNull: args[3], onError: args[4], running: vars.Scripts().Running}
	e.format = compileFormat(formatArg{op: def.Name, code: 40684, allowed: parseSpecifiers, expr: args[2]}, e.running)
	e.zone = compileZone("", args[1], operandFailures(args, vars))
	return e, nil
}

func (d *dateFromStringExpr) Children() []expr.Expr {
	return expr.Present([]expr.Expr{d.text, d.format.expr, d.zone.expr, d.onError, d.onNull})
}

func (d *dateFromStringExpr) Eval(ctx *expr.Context) (bsonx.Value, error) {
	text, err := d.text.Eval(ctx)
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
	if expr.Nullish(text) {
		if d.onNull != nil {
			return d.onNull.Eval(ctx)
		}
		return bsonx.Null, nil
	}
	if text.Type == bsonx.TypeString && (null || zone == nil) {
		return bsonx.Null, nil
	}
	millis, err := d.read(text, format, zone, ctx.Converting(d.running))
	if d.onError != nil && mongoerr.CodeOf(err) == mongoerr.ConversionFailure {
		return d.onError.Eval(ctx)
	}
	return bsonx.Date(millis), err
}

func (d *dateFromStringExpr) read(v bsonx.Value, format []byte, zone *time.Location, t *expr.Task) (int64, error) {
	if t.Stopped(len(v.Data)) {
		return 0, t.Err()
	}
	if v.Type != bsonx.TypeString {
		return 0, mongoerr.New(mongoerr.ConversionFailure,
			"$dateFromString requires that 'dateString' be a string, found: %s with value %s", v.Type, expr.Show(v))
	}
	text := v.Str()
	if d.format.expr == nil {
		return ReadDate(text, zone, t)
	}
	read := &dateText{text: text, whole: text, end: len(text), task: t}
	read.match(format)
	return read.resolve(zone)
}
