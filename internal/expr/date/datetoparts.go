package date

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// dateToPartsExpr is $dateToParts. iso is nil if absent.
type dateToPartsExpr struct {
	date, iso expr.Expr
	zone      zoneArg
}

func dateToPartsDefinition() expr.Definition {
	return expr.Definition{
		Name: "$dateToParts", Family: family, Parse: parseDateToParts,
		Arguments: []string{"date", "timezone", "iso8601"},
		Total:     feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func parseDateToParts(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	named := expr.Named{
		Required: 1, NotObject: 40524,
		Unknown: expr.UnknownArgument{Code: 40520, Text: expr.UnrecognizedArgument},
		Missing: []mongoerr.Code{40522},
	}
	args, err := p.ParseNamedLate(def, arg, vars, named)
	if err != nil {
		return nil, err
	}
	return &dateToPartsExpr{args[0], args[2], compileZone("", args[1], operandFailures(args, vars))}, nil
}

func (d *dateToPartsExpr) Children() []expr.Expr {
	return expr.Present([]expr.Expr{d.date, d.zone.expr, d.iso})
}

func (d *dateToPartsExpr) Eval(ctx *expr.Context) (bsonx.Value, error) {
	date, err := d.date.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	zone, err := d.zone.eval(ctx)
	if err != nil || zone == nil {
		return bsonx.Null, err
	}
	iso := false
	if d.iso != nil {
		v, err := d.iso.Eval(ctx)
		if err != nil || expr.Nullish(v) {
			return bsonx.Null, err
		}
		if v.Type != bsonx.TypeBool {
			return bsonx.Missing, mongoerr.New(40521, "iso8601 must evaluate to a bool, found %s", v.Type)
		}
		iso = v.Bool()
	}
	if expr.Nullish(date) {
		return bsonx.Null, nil
	}
	w, err := wallOf(date, zone)
	if err != nil {
		return bsonx.Missing, err
	}
	return partsOf(w, iso), nil
}

func partsOf(w wall, iso bool) bsonx.Value {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	part := func(name string, n int64) { b.Int32(name, int32(n)) }
	if iso {
		year, week := isoWeek(w.days)
		part("isoWeekYear", year)
		part("isoWeek", week)
		part("isoDayOfWeek", weekday(w.days))
	} else {
		year, month, day := dateOfDays(w.days)
		part("year", year)
		part("month", month)
		part("day", day)
	}
	part("hour", w.millis/hourMillis)
	part("minute", w.millis/minuteMillis%60)
	part("second", w.millis/secondMillis%60)
	part("millisecond", w.millis%secondMillis)
	b.End()
	return bsonx.Document(b.Bytes())
}
