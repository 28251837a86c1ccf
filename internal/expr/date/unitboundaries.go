package date

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// boundaryArgs contains the arguments of $dateDiff and $dateTrunc that define the boundaries of
// units.
type boundaryArgs struct {
	unit unitArg
	zone zoneArg
	week weekArg
}

func compileBoundaries(op string, unit, zone, startOfWeek expr.Expr, failures *expr.Failures) boundaryArgs {
	var a boundaryArgs
	a.unit = compileUnit(op, unit, failures)
	a.week = compileStartOfWeek(op, startOfWeek, failures)
	a.zone = compileZone(op, zone, failures)
	return a
}

// boundaries contains the values of boundaryArgs.
type boundaries struct {
	unit        timeUnit
	zone        *time.Location
	startOfWeek int64
}

// eval evaluates the arguments. ok is false if one of them is null.
func (a *boundaryArgs) eval(ctx *expr.Context) (b boundaries, ok bool, err error) {
	b.startOfWeek = sunday
	if b.unit, err = a.unit.eval(ctx); err != nil || b.unit == unitNone {
		return b, false, err
	}
	if b.unit == unitWeek {
		if b.startOfWeek, err = a.week.eval(ctx); err != nil || b.startOfWeek == 0 {
			return b, false, err
		}
	}
	b.zone, err = a.zone.eval(ctx)
	return b, err == nil && b.zone != nil, err
}

// notDate returns the error for the argument name of op, whose value v is not a date.
func notDate(op, name string, v bsonx.Value) error {
	return mongoerr.New(5166307, "%s requires '%s' to be a date, but got %s", op, name, v.Type)
}
