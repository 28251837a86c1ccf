package convert

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expr/date"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func convertDefinition() expr.Definition {
	return expr.Definition{
		Name: "$convert", Family: family, Parse: parseConvert,
		Arguments: []string{"input", "to", "format", "onError", "onNull", "byteOrder", "base"},
		Total:     feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

// convertExpr is $convert. Absent arguments are nil.
type convertExpr struct {
	input, to, onError, onNull, format, byteOrder, base expr.Expr

	running *interrupt.Running // signals interrupts of the operation; nil never does
}

func (c *convertExpr) Children() []expr.Expr {
	return expr.Present([]expr.Expr{c.input, c.to, c.onError, c.onNull, c.format, c.byteOrder, c.base})
}

func (c *convertExpr) Eval(ctx *expr.Context) (bsonx.Value, error) {
	target, err := c.to.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	input, err := c.input.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	to, null, err := targetType(target)
	if err != nil {
		return bsonx.Missing, err
	}
	if expr.Nullish(input) {
		if c.onNull != nil {
			return c.onNull.Eval(ctx)
		}
		return bsonx.Null, nil
	}
	if null {
		return bsonx.Null, nil
	}
	how := converter{to: to}
	if err := c.details(ctx, &how, target); err != nil {
		return bsonx.Missing, err
	}
	out, err := how.convert(input, ctx.Converting(c.running))
	if c.onError != nil && mongoerr.CodeOf(err) == mongoerr.ConversionFailure {
		return c.onError.Eval(ctx)
	}
	return out, err
}

// details evaluates the arguments besides the target type, such as format, into how.
func (c *convertExpr) details(ctx *expr.Context, how *converter, target bsonx.Value) (err error) {
	if target.Type == bsonx.TypeDocument && how.to == bsonx.TypeBinary {
		if how.subtype, err = readSubtype(target.Doc().Lookup("subtype")); err != nil {
			return err
		}
	}
	if c.format == nil && c.byteOrder == nil && c.base == nil {
		return nil
	}
	var values [3]bsonx.Value
	for i, e := range [...]expr.Expr{c.format, c.byteOrder, c.base} {
		if values[i], err = expr.EvalOptional(ctx, e); err != nil {
			return err
		}
	}
	if how.format, err = readFormat(values[0]); err != nil {
		return err
	}
	if how.bigEndian, err = readByteOrder(values[1]); err != nil {
		return err
	}
	how.base, err = readBase(values[2])
	return err
}

// targetType parses the argument "to", which is the name or number of a type, or a document {type,
// …}.
func targetType(v bsonx.Value) (t bsonx.Type, null bool, err error) {
	inner := v.Type == bsonx.TypeDocument
	if inner {
		v = v.Doc().Lookup("type")
	}
	switch {
	case expr.Nullish(v) && !inner:
		return 0, true, nil
	case v.Type == bsonx.TypeString:
		t, ok := bsonx.TypeByAlias(v.Str())
		if !ok && v.Str() != bsonx.TypeMissing.String() {
			return 0, false, mongoerr.New(mongoerr.BadValue, "Unknown type name: %s", v.Str())
		}
		return t, false, nil
	case v.Type.IsNumber():
		n, ok := expr.AsInt32(v)
		if !ok {
			return 0, false, mongoerr.New(mongoerr.FailedToParse,
				"In $convert, numeric 'to' argument is not an integer")
		}
		t := bsonx.Type(n)
		switch n {
		case -1:
			return bsonx.TypeMinKey, false, nil
		case 0:
			return bsonx.TypeMissing, false, nil
		}
		if n <= 0 || n > 127 || t.String() == "type "+strconv.Itoa(n) {
			return 0, false, mongoerr.New(mongoerr.FailedToParse, "In $convert, numeric value for 'to' does not correspond to a BSON type: %s", expr.Show(v))
		}
		return t, false, nil
	}
	return 0, false, mongoerr.New(mongoerr.FailedToParse, "$convert's 'to' argument must be a string or number, but is %s", v.Type)
}

func parseConvert(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$convert expects an object of named arguments but found: %s", arg.Type)
	}
	args, err := p.NamedArgs(arg, vars, expr.UnknownArgument{Code: mongoerr.FailedToParse, Text: expr.FoundUnknown},
		def.Name, "input", "to", "onError", "onNull", "format", "byteOrder", "base")
	if err != nil {
		return nil, err
	}
	if args[0] == nil {
		return nil, mongoerr.New(mongoerr.FailedToParse, "Missing 'input' parameter to $convert")
	}
	if args[1] == nil {
		return nil, mongoerr.New(mongoerr.FailedToParse, "Missing 'to' parameter to $convert")
	}
	return &convertExpr{args[0], args[1], args[2], args[3], args[4], args[5], args[6], vars.Scripts().Running}, nil
}

// convert converts v to the target type. It counts the size of v as work.
func (c *converter) convert(v bsonx.Value, t *expr.Task) (bsonx.Value, error) {
	if t.Stopped(len(v.Data)) {
		return bsonx.Missing, t.Err()
	}
	switch c.to {
	case bsonx.TypeBool:
		return bsonx.Bool(v.Truthy()), nil
	case bsonx.TypeString:
		text, err := c.toText(v)
		if err == nil {
			err = expr.CheckText(len(text.Data))
		}
		return text, err
	case bsonx.TypeBinary:
		return c.toBinary(v)
	case bsonx.TypeObjectID:
		return toObjectID(v)
	case bsonx.TypeDate:
		return toDate(v, t)
	case bsonx.TypeDouble, bsonx.TypeInt32, bsonx.TypeInt64, bsonx.TypeDecimal128:
		return c.toNumber(v)
	default:
		return bsonx.Missing, unsupported(v, c.to)
	}
}

func unsupported(v bsonx.Value, to bsonx.Type) error {
	return mongoerr.New(mongoerr.ConversionFailure, "Unsupported conversion from %s to %s in $convert with no onError value", v.Type, to)
}

func (c *converter) toText(v bsonx.Value) (bsonx.Value, error) {
	if c.base != 0 && v.Type.IsNumber() {
		return textInBase(v, c.base)
	}
	switch v.Type {
	case bsonx.TypeBinary:
		return c.binaryText(v)
	case bsonx.TypeString:
		return v, nil
	case bsonx.TypeBool:
		return bsonx.String(strconv.FormatBool(v.Bool())), nil
	case bsonx.TypeObjectID:
		return bsonx.String(hex.EncodeToString(v.Data)), nil
	case bsonx.TypeDouble:
		return bsonx.String(expr.FormatDouble(v.Double())), nil
	case bsonx.TypeInt32, bsonx.TypeInt64, bsonx.TypeDecimal128, bsonx.TypeDate:
		text, err := expr.CoerceText(v)
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
		return parseObjectID(beginning(v), len(v.StrBytes()))
	default:
		return bsonx.Missing, unsupported(v, bsonx.TypeObjectID)
	}
}

// beginning returns the beginning of a long text. An error message with it is the same as with the
// whole text, because messages are truncated.
func beginning(v bsonx.Value) string {
	text := v.StrBytes()
	return string(text[:min(len(text), mongoerr.MaxMessage+utf8.UTFMax)])
}

// parseObjectID parses an ObjectId. The original text has n bytes; if it is too long, text may
// contain only its beginning.
func parseObjectID(text string, n int) (bsonx.Value, error) {
	reason := fmt.Sprintf("Invalid string length for parsing to OID, expected 24 but found %d", n)
	if n == 24 {
		id, err := hex.DecodeString(text)
		if err == nil {
			return bsonx.ObjectID([12]byte(id)), nil
		}
		reason = fmt.Sprintf("Invalid character found in hex string: %c", text[notHex(text)])
	}
	return bsonx.Missing, mongoerr.New(mongoerr.ConversionFailure, "Failed to parse objectId '%s' in $convert with no onError value: %s", text, reason)
}

// notHex returns the position of the first byte that is not a hexadecimal digit, or -1.
func notHex(text string) int {
	for i := range len(text) {
		if c := text[i]; !date.IsDigit(c) && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return i
		}
	}
	return -1
}

func toDate(v bsonx.Value, t *expr.Task) (bsonx.Value, error) {
	switch v.Type {
	case bsonx.TypeDouble, bsonx.TypeDecimal128, bsonx.TypeInt64:
		millis, err := numeric.ToInt64(v)
		if err != nil {
			return bsonx.Missing, err
		}
		return bsonx.Date(millis.Int64()), nil
	case bsonx.TypeString:
		millis, err := date.ReadDate(v.Str(), time.UTC, t)
		return bsonx.Date(millis), err
	case bsonx.TypeDate, bsonx.TypeTimestamp, bsonx.TypeObjectID:
		t, err := date.DateOf(v)
		return bsonx.Date(t.UnixMilli()), err
	default:
		return bsonx.Missing, unsupported(v, bsonx.TypeDate)
	}
}

func (c *converter) toNumber(v bsonx.Value) (bsonx.Value, error) {
	to := c.to
	switch v.Type {
	case bsonx.TypeBinary:
		if to == bsonx.TypeDecimal128 {
			return bsonx.Missing, unsupported(v, to)
		}
		return c.binaryNumber(v)
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
		if c.base != 0 && c.base != 10 {
			return c.parseInBase(v.Str())
		}
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
		// Like MongoDB, check the range before truncating the fraction.
		if f, _ := v.AsFloat64(); v.Type == bsonx.TypeDouble && !numeric.IsInfinite(v) &&
			(f > math.MaxInt32 || f < math.MinInt32) {
			return bsonx.Missing, mongoerr.New(mongoerr.ConversionFailure,
				"Conversion would overflow target type in $convert with no onError value: %s", expr.Show(v))
		}
		return numeric.ToInt32(v)
	case bsonx.TypeInt64:
		return numeric.ToInt64(v)
	default:
		return numeric.ToDecimal(v)
	}
}

// parseNumber parses a string as a number in decimal notation. The whole string must be a number.
func parseNumber(text string, to bsonx.Type) (bsonx.Value, error) {
	if strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X") {
		return bsonx.Missing, mongoerr.New(mongoerr.ConversionFailure, "Illegal hexadecimal input in $convert with no onError value: %s", text)
	}
	switch to {
	case bsonx.TypeDouble:
		f, ok := numeric.ParseDouble(text)
		if ok {
			return bsonx.Double(f), nil
		}
		return bsonx.Missing, notNumber(text, notDouble(text, f))
	case bsonx.TypeDecimal128:
		return parseDecimal(text)
	default:
		return parseWhole(text, to)
	}
}

// notDouble returns the reason why text is not a double. nearest is the result of parsing despite
// the error, or 0: it tells whether the number is out of range without parsing again.
func notDouble(text string, nearest float64) string {
	digits := strings.TrimPrefix(strings.TrimLeft(text, "+-"), ".")
	switch {
	case text == "":
		return "Empty string"
	case strings.ContainsRune(" \t\n\v\f\r", rune(text[0])):
		return "Leading whitespace"
	case digits == "" || !date.IsDigit(digits[0]):
		return "Invalid number"
	case nearest != 0:
		return "Out of range"
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return "Out of range"
	}
	return "Did not consume whole string"
}

func parseDecimal(text string) (bsonx.Value, error) {
	v, err := bsonx.ParseDecimal(text)
	switch {
	case text == "":
		return bsonx.Missing, notNumber(text, "Empty string")
	case err != nil:
		return bsonx.Missing, notNumber(text, "Failed to parse string to decimal")
	case numeric.IsInfinite(v) && strings.ContainsAny(text, "0123456789"):
		return bsonx.Missing, notNumber(text, "Conversion from string to decimal would overflow")
	}
	return v, nil
}

// parseWhole parses an int or a long.
func parseWhole(text string, to bsonx.Type) (bsonx.Value, error) {
	bits := 64
	if to == bsonx.TypeInt32 {
		bits = 32
	}
	i, err := strconv.ParseInt(text, 10, bits)
	switch {
	case text == "" || text == "+" || text == "-":
		return bsonx.Missing, notNumber(text, "No digits")
	case errors.Is(err, strconv.ErrRange):
		return bsonx.Missing, notNumber(text, "Overflow")
	case err != nil:
		return bsonx.Missing, notNumber(text, "Did not consume whole string.")
	}
	if to == bsonx.TypeInt32 {
		return bsonx.Int32(int32(i)), nil
	}
	return bsonx.Int64(i), nil
}

func notNumber(text, reason string) error {
	return mongoerr.New(mongoerr.ConversionFailure, "Failed to parse number '%s' in $convert with no onError value: %s", text, reason)
}

// parseInBase parses an integer in the base c.base, without a prefix.
func (c *converter) parseInBase(text string) (bsonx.Value, error) {
	i, err := strconv.ParseInt(text, c.base, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return bsonx.Missing, notNumber(text, "Overflow")
	case err != nil:
		return bsonx.Missing, notNumber(text, "Did not consume whole string.")
	}
	whole := converter{to: c.to}
	return whole.toNumber(bsonx.Int64(i))
}

// textInBase formats an integer in the given base.
func textInBase(v bsonx.Value, base int) (bsonx.Value, error) {
	i, ok := v.AsExactInt64()
	if !ok {
		return bsonx.Missing, mongoerr.New(mongoerr.ConversionFailure,
			"Base conversion is not supported for non-integers in $convert with no onError value: ")
	}
	return bsonx.String(strings.ToUpper(strconv.FormatInt(i, base))), nil
}
