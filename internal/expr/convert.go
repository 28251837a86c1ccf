package expr

import (
	"encoding/hex"
	"errors"
	"math"
	"strconv"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func conversionOperators() []definition {
	return []definition{
		{name: "$convert", family: "conversion", min: 1, max: 1, parse: parseConvert},
		conversionTo("$toBool", bsonx.TypeBool), conversionTo("$toDate", bsonx.TypeDate),
		conversionTo("$toDecimal", bsonx.TypeDecimal128), conversionTo("$toDouble", bsonx.TypeDouble),
		conversionTo("$toInt", bsonx.TypeInt32), conversionTo("$toLong", bsonx.TypeInt64),
		conversionTo("$toObjectId", bsonx.TypeObjectID), conversionTo("$toString", bsonx.TypeString),
	}
}

func conversionTo(name string, to bsonx.Type) definition {
	fn := func(v bsonx.Value) (bsonx.Value, error) {
		if nullish(v) {
			return bsonx.Null, nil
		}
		return convert(v, to)
	}
	return definition{
		name: name, family: "conversion", min: 1, max: 1,
		parse: func(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			args, err := p.operands(arg, vars)
			if err != nil {
				return nil, err
			}
			if len(args) != 1 {
				return nil, mongoerr.New(50723, "%s requires a single argument, got %d", def.name, len(args))
			}
			return &call1{args[0], plain1(fn)}, nil
		},
	}
}

// convertExpr is $convert. Absent arguments are nil.
type convertExpr struct{ input, to, onError, onNull Expr }

func (c *convertExpr) children() []Expr { return present([]Expr{c.input, c.to, c.onError, c.onNull}) }

func (c *convertExpr) Eval(ctx *Context) (bsonx.Value, error) {
	input, err := c.input.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	target, err := c.to.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	to, null, err := targetType(target)
	if err != nil {
		return bsonx.Missing, err
	}
	if nullish(input) {
		if c.onNull != nil {
			return c.onNull.Eval(ctx)
		}
		return bsonx.Null, nil
	}
	if null {
		return bsonx.Null, nil
	}
	out, err := convert(input, to)
	if c.onError != nil && mongoerr.CodeOf(err) == mongoerr.ConversionFailure {
		return c.onError.Eval(ctx)
	}
	return out, err
}

// targetType reads the argument to: a type's name or number.
func targetType(v bsonx.Value) (t bsonx.Type, null bool, err error) {
	if v.Type == bsonx.TypeDocument {
		v = v.Doc().Lookup("type")
	}
	switch {
	case nullish(v):
		return 0, true, nil
	case v.Type == bsonx.TypeString:
		t, ok := bsonx.TypeByAlias(v.Str())
		if !ok && v.Str() != bsonx.TypeMissing.String() {
			return 0, false, mongoerr.New(mongoerr.BadValue, "Unknown type name: %s", v.Str())
		}
		return t, false, nil
	case v.Type.IsNumber():
		n, ok := asInt32(v)
		t := bsonx.Type(n)
		if ok && n == -1 {
			return bsonx.TypeMinKey, false, nil
		}
		if !ok || n <= 0 || n > 127 || t.String() == "type "+strconv.Itoa(n) {
			return 0, false, mongoerr.New(mongoerr.FailedToParse, "In $convert, numeric value for 'to' does not correspond to a BSON type: %s", Show(v))
		}
		return t, false, nil
	}
	return 0, false, mongoerr.New(mongoerr.FailedToParse, "$convert's 'to' argument must be a string or number, but is %s", v.Type)
}

func parseConvert(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$convert expects an object of named arguments but found: %s", arg.Type)
	}
	args, err := p.namedArgs(arg, vars, mongoerr.FailedToParse, def.name, "input", "to", "onError", "onNull", "format", "byteOrder")
	if err != nil {
		return nil, err
	}
	if args[0] == nil {
		return nil, mongoerr.New(mongoerr.FailedToParse, "Missing 'input' parameter to $convert")
	}
	if args[1] == nil {
		return nil, mongoerr.New(mongoerr.FailedToParse, "Missing 'to' parameter to $convert")
	}
	if args[4] != nil || args[5] != nil {
		return nil, mongoerr.New(mongoerr.NotImplemented, "$convert from and to binData is not implemented")
	}
	return &convertExpr{args[0], args[1], args[2], args[3]}, nil
}

func convert(v bsonx.Value, to bsonx.Type) (bsonx.Value, error) {
	if v.Type == bsonx.TypeBinary && to != bsonx.TypeBool || to == bsonx.TypeBinary {
		return bsonx.Missing, mongoerr.New(mongoerr.NotImplemented, "$convert from and to binData is not implemented")
	}
	switch to {
	case bsonx.TypeBool:
		return bsonx.Bool(v.Truthy()), nil
	case bsonx.TypeString:
		return toText(v)
	case bsonx.TypeObjectID:
		return toObjectID(v)
	case bsonx.TypeDate:
		return toDate(v)
	case bsonx.TypeDouble, bsonx.TypeInt32, bsonx.TypeInt64, bsonx.TypeDecimal128:
		return toNumber(v, to)
	default:
		return bsonx.Missing, unsupported(v, to)
	}
}

func unsupported(v bsonx.Value, to bsonx.Type) error {
	return mongoerr.New(mongoerr.ConversionFailure, "Unsupported conversion from %s to %s in $convert with no onError value", v.Type, to)
}

func toText(v bsonx.Value) (bsonx.Value, error) {
	switch v.Type {
	case bsonx.TypeString:
		return v, nil
	case bsonx.TypeBool:
		return bsonx.String(strconv.FormatBool(v.Bool())), nil
	case bsonx.TypeObjectID:
		return bsonx.String(hex.EncodeToString(v.Data)), nil
	case bsonx.TypeDouble:
		return bsonx.String(formatDouble(v.Double())), nil
	case bsonx.TypeInt32, bsonx.TypeInt64, bsonx.TypeDecimal128, bsonx.TypeDate:
		text, err := coerceText(v)
		return bsonx.String(text), err
	default:
		return bsonx.Missing, unsupported(v, bsonx.TypeString)
	}
}

func toObjectID(v bsonx.Value) (bsonx.Value, error) {
	switch v.Type {
	case bsonx.TypeObjectID:
		return v, nil
	case bsonx.TypeString:
		id, err := hex.DecodeString(v.Str())
		if err != nil || len(id) != 12 {
			return bsonx.Missing, mongoerr.New(mongoerr.ConversionFailure, "Failed to parse objectId '%s' in $convert with no onError value", v.Str())
		}
		return bsonx.ObjectID([12]byte(id)), nil
	default:
		return bsonx.Missing, unsupported(v, bsonx.TypeObjectID)
	}
}

func toDate(v bsonx.Value) (bsonx.Value, error) {
	switch v.Type {
	case bsonx.TypeDouble, bsonx.TypeDecimal128, bsonx.TypeInt64:
		millis, err := numeric.ToInt64(v)
		if err != nil {
			return bsonx.Missing, err
		}
		return bsonx.Date(millis.Int64()), nil
	case bsonx.TypeString:
		t, ok := parseDate(v.Str())
		if !ok {
			return bsonx.Missing, mongoerr.New(mongoerr.ConversionFailure, "Error parsing date string '%s'", v.Str())
		}
		return bsonx.Date(t.UnixMilli()), nil
	case bsonx.TypeDate, bsonx.TypeTimestamp, bsonx.TypeObjectID:
		t, err := dateOf(v)
		return bsonx.Date(t.UnixMilli()), err
	default:
		return bsonx.Missing, unsupported(v, bsonx.TypeDate)
	}
}

func toNumber(v bsonx.Value, to bsonx.Type) (bsonx.Value, error) {
	switch v.Type {
	case bsonx.TypeBool:
		i := int32(0)
		if v.Bool() {
			i = 1
		}
		v = bsonx.Int32(i)
	case bsonx.TypeDate:
		if to == bsonx.TypeInt32 {
			return bsonx.Missing, unsupported(v, to)
		}
		v = bsonx.Int64(v.Int64())
	case bsonx.TypeString:
		return parseNumber(v.Str(), to)
	default:
		if !v.Type.IsNumber() {
			return bsonx.Missing, unsupported(v, to)
		}
	}
	switch to {
	case bsonx.TypeDouble:
		return numeric.ToDouble(v)
	case bsonx.TypeInt32:
		// The range is checked before the fraction is cut off.
		if f, _ := v.AsFloat64(); v.Type == bsonx.TypeDouble && (f > math.MaxInt32 || f < math.MinInt32) {
			return bsonx.Missing, mongoerr.New(mongoerr.ConversionFailure,
				"Conversion would overflow target type in $convert with no onError value: %s", Show(v))
		}
		return numeric.ToInt32(v)
	case bsonx.TypeInt64:
		return numeric.ToInt64(v)
	default:
		return numeric.ToDecimal(v)
	}
}

// parseNumber reads a whole string as a number in decimal notation.
func parseNumber(text string, to bsonx.Type) (bsonx.Value, error) {
	failed := mongoerr.New(mongoerr.ConversionFailure, "Failed to parse number '%s' in $convert with no onError value", text)
	switch to {
	case bsonx.TypeDouble:
		if f, ok := numeric.ParseDouble(text); ok {
			return bsonx.Double(f), nil
		}
		return bsonx.Missing, failed
	case bsonx.TypeDecimal128:
		v, err := bsonx.ParseDecimal(text)
		if err != nil {
			return bsonx.Missing, failed
		}
		return v, nil
	default:
	}
	bits := 64
	if to == bsonx.TypeInt32 {
		bits = 32
	}
	i, err := strconv.ParseInt(text, 10, bits)
	if errors.Is(err, strconv.ErrRange) || err != nil {
		return bsonx.Missing, failed
	}
	if to == bsonx.TypeInt32 {
		return bsonx.Int32(int32(i)), nil
	}
	return bsonx.Int64(i), nil
}
