package date

import (
	"strings"
	"time"
	_ "time/tzdata" // for servers without time zone files

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

const (
	secondMillis = 1000
	minuteMillis = 60 * secondMillis
	hourMillis   = 60 * minuteMillis
	dayMillis    = 24 * hourMillis
	daySeconds   = 24 * 60 * 60
)

// maxCachedZones is the largest number of time zones in the cache of a Context. There are about 600
// names.
const maxCachedZones = 1024

// zoneOf parses a time zone: an Olson name, UTC, GMT, or an offset such as +01, -0530 or +05:30. It
// returns time.UTC only for UTC and the offset zero: $dateToString formats these as Z, but not
// other names for the same zone.
func zoneOf(v bsonx.Value) (*time.Location, *mongoerr.Error) {
	if v.Type != bsonx.TypeString {
		return nil, mongoerr.New(40517, "timezone must evaluate to a string, found %s", v.Type)
	}
	name := v.Str()
	if name == "UTC" {
		return time.UTC, nil
	}
	if name != "" && (name[0] == '+' || name[0] == '-') {
		return offsetZone(name)
	}
	if !isZoneName(name) {
		return nil, unknownZone(name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, unknownZone(name)
	}
	return zone, nil
}

// isZoneName returns false for names that time.LoadLocation accepts although they are not Olson
// names.
func isZoneName(name string) bool {
	switch name {
	case "", "Local", "localtime", "posixrules":
		return false
	}
	return !strings.HasPrefix(name, "posix/") && !strings.HasPrefix(name, "right/")
}

func unknownZone(name string) *mongoerr.Error {
	return mongoerr.New(40485, "unrecognized time zone identifier: \"%s\"", name)
}

func offsetZone(name string) (*time.Location, *mongoerr.Error) {
	digits := name[1:]
	if len(digits) == 5 && digits[2] == ':' {
		digits = digits[:2] + digits[3:]
	}
	if len(digits) != 2 && len(digits) != 4 {
		return nil, unknownZone(name)
	}
	n := 0
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return nil, unknownZone(name)
		}
		n = n*10 + int(digits[i]-'0')
	}
	minutes := n * 60
	if len(digits) == 4 {
		minutes = n/100*60 + n%100
	}
	if minutes == 0 {
		return time.UTC, nil
	}
	if name[0] == '-' {
		minutes = -minutes
	}
	return time.FixedZone(name, minutes*60), nil
}

// zoneArg is the argument "timezone": constant (fixed is set) or an expression.
type zoneArg struct {
	op    string // the operator, for error messages that contain it; empty otherwise
	fixed *time.Location
	expr  expr.Expr
}

// compileZone prepares the argument timezone of op. A nil e means UTC. An invalid constant is
// recorded in failures.
func compileZone(op string, e expr.Expr, failures *expr.Failures) zoneArg {
	if e == nil {
		return zoneArg{fixed: time.UTC}
	}
	z := zoneArg{op: op, expr: e}
	if v, ok := expr.ConstValue(e); ok && !expr.Nullish(v) {
		var err error
		z.fixed, err = z.zoneOf(v)
		failures.Add(err)
	}
	return z
}

func (z *zoneArg) zoneOf(v bsonx.Value) (*time.Location, error) {
	zone, err := zoneOf(v)
	switch {
	case err == nil:
		return zone, nil
	case z.op == "":
		return nil, err
	}
	return nil, err.Prefix("%s parameter 'timezone' value parsing failed :: caused by :: ", z.op)
}

// eval returns the time zone, or nil if it is null.
func (z zoneArg) eval(ctx *expr.Context) (*time.Location, error) {
	if z.fixed != nil {
		return z.fixed, nil
	}
	v, err := z.expr.Eval(ctx)
	if err != nil || expr.Nullish(v) {
		return nil, err
	}
	if v.Type == bsonx.TypeString {
		if zone := ctx.Zones[string(v.StrBytes())]; zone != nil {
			return zone, nil
		}
	}
	zone, err := z.zoneOf(v)
	if err != nil {
		return nil, err
	}
	if ctx.Zones == nil || len(ctx.Zones) >= maxCachedZones {
		ctx.Zones = map[string]*time.Location{}
	}
	ctx.Zones[v.Str()] = zone
	return zone, nil
}
