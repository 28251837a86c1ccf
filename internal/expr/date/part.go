package date

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// datePartExpr is a part of a date in a time zone.
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

// datePart makes an operator of a date, given alone or as {date, timezone}, whose result is an int,
// or a long where long is.
func datePart(name string, part func(wall) int64, long bool) expr.Definition {
	return expr.Definition{
		Name: name, Family: dateFamily, Min: 1, Max: 1,
		Parse: func(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
			args, err := dateArguments(p, def, arg, vars)
			if err != nil {
				return nil, err
			}
			return &datePartExpr{args[0], compileZone("", args[1], operandFailures(args, vars)), part, long}, nil
		},
	}
}

// dateArguments compiles the operands of a date part: the date and the time zone, which may be nil.
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
