package transfer

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// column is a field of a CSV file.
type column struct {
	Path []string // the field's name, split at dots
	Type string
	Arg  string // for example the layout of a date
	kind *columnType
}

// columnType reads and writes the cells of one type.
type columnType struct {
	name   string
	parse  func(cell, arg string) (any, error)
	format func(v bson.RawValue, arg string) (string, bool) // false if the value has another type
}

// columnTypes is the table of types. Types that mongoimport has, too, have the same names.
func columnTypes() []columnType {
	return []columnType{
		{"auto", func(cell, _ string) (any, error) { return guess(cell), nil }, formatAuto},
		{"string", func(cell, _ string) (any, error) { return cell, nil }, formatAuto},
		{"int32", func(cell, _ string) (any, error) {
			n,
				err := strconv.ParseInt(cell, 10, 32)
			return int32(n), err
		}, formatInteger},
		{"int64", func(cell, _ string) (any, error) { return strconv.ParseInt(cell, 10, 64) }, formatInteger},
		{"double", func(cell, _ string) (any, error) { return strconv.ParseFloat(cell, 64) }, formatAuto},
		{"decimal", func(cell, _ string) (any, error) { return bson.ParseDecimal128(cell) }, formatAuto},
		{"boolean", func(cell, _ string) (any, error) { return parseBoolean(cell) }, formatAuto},
		{"objectid", func(cell, _ string) (any, error) { return bson.ObjectIDFromHex(cell) }, formatAuto},
		{"date", parseDate, formatDate},
		{"date_go", parseDate, formatDate},
		{"binary", parseBinary, formatBinary},
		{"json", parseValue, formatJSON},
	}
}

var columnPattern = regexp.MustCompile(`^(.+)\.([a-z_0-9]+)\((.*)\)$`)

// parseColumn parses "name", "name.type()" or "name.type(argument)". A column without a type has
// the type auto.
func parseColumn(text string) (column, error) {
	c := column{Type: "auto"}
	name := strings.TrimSpace(text)
	if m := columnPattern.FindStringSubmatch(name); m != nil {
		name, c.Type, c.Arg = m[1], m[2], m[3]
	}
	if name == "" {
		return c, fmt.Errorf("column %q has no name", text)
	}
	c.Path = strings.Split(name, ".")
	if slices.Contains(c.Path, "") {
		return c, fmt.Errorf("column %q: its path has an empty name", text)
	}
	types := columnTypes()
	for i := range types {
		if types[i].name == c.Type {
			c.kind = &types[i]
			return c, nil
		}
	}
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.name
	}
	return c, fmt.Errorf("column %q: unknown type %q: use one of %s", text, c.Type, strings.Join(names, ", "))
}

// parseColumns reads the columns of a header.
func parseColumns(texts []string) ([]column, error) {
	columns := make([]column, len(texts))
	for i, text := range texts {
		var err error
		if columns[i], err = parseColumn(text); err != nil {
			return nil, err
		}
	}
	return columns, nil
}

// name returns the column's field as a dotted path.
func (c *column) name() string { return strings.Join(c.Path, ".") }

// parse reads a cell.
func (c *column) parse(cell string) (any, error) {
	v, err := c.kind.parse(cell, c.Arg)
	if err != nil {
		return nil, fmt.Errorf("column %s: %q is not of type %s: %w", c.name(), cell, c.Type, err)
	}
	return v, nil
}

// guess parses a cell as a number or as text. A cell is a number only if printing the number gives
// the same text: 10, -3, 1.5, 2.0, 1e-05. Other cells stay text, because a number would lose
// something: leading and trailing zeros (007 and 1.10 are codes), digits beyond the precision of
// the type, and forms like 1E5.
func guess(cell string) any {
	if n, err := strconv.ParseInt(cell, 10, 64); err == nil && strconv.FormatInt(n, 10) == cell {
		if int64(int32(n)) == n {
			return int32(n)
		}
		return n
	}
	if f, ok := printedDouble(cell); ok {
		return f
	}
	return cell
}

func parseBoolean(cell string) (bool, error) {
	switch strings.ToLower(cell) {
	case "true", "t", "yes", "y", "1":
		return true, nil
	case "false", "f", "no", "n", "0":
		return false, nil
	}
	return false, strconv.ErrSyntax
}

// parseDate parses a date by a layout of Go's package time. Without a layout it accepts RFC 3339,
// also without the time zone, with a space in place of the T, or without the time of day.
func parseDate(cell, layout string) (any, error) {
	layouts := []string{layout}
	if layout == "" {
		layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, time.DateOnly}
	}
	var err error
	for _, l := range layouts {
		var t time.Time
		if t, err = time.Parse(l, cell); err == nil {
			return bson.NewDateTimeFromTime(t), nil
		}
	}
	return nil, err
}

func formatDate(v bson.RawValue, layout string) (string, bool) {
	millis, ok := v.DateTimeOK()
	if !ok {
		return "", false
	}
	if layout == "" {
		layout = time.RFC3339Nano
	}
	return time.UnixMilli(millis).UTC().Format(layout), true
}

// parseBinary parses base64, which is the default, or hexadecimal digits.
func parseBinary(cell, encoding string) (any, error) {
	decode := base64.StdEncoding.Strict().DecodeString
	if encoding == "hex" {
		decode = hex.DecodeString
	}
	data, err := decode(cell)
	return bson.Binary{Data: data}, err
}

func formatBinary(v bson.RawValue, encoding string) (string, bool) {
	subtype, data, ok := v.BinaryOK()
	if !ok || subtype != bson.TypeBinaryGeneric {
		return "", false // a cell cannot hold a subtype
	}
	if encoding == "hex" {
		return hex.EncodeToString(data), true
	}
	return base64.StdEncoding.EncodeToString(data), true
}

// parseValue parses any value of Extended JSON. A number that no type can hold exactly is an error,
// unless the argument is "round".
func parseValue(cell, rounds string) (any, error) {
	if !json.Valid([]byte(cell)) {
		return nil, strconv.ErrSyntax
	}
	if err := checkLosses([]byte(cell), rounds == "round"); err != nil {
		return nil, orRound(err)
	}
	var doc bson.D
	if err := bson.UnmarshalExtJSON([]byte(`{"v":`+cell+`}`), false, &doc); err != nil {
		return nil, err
	}
	return doc[0].Value, nil
}

func formatJSON(v bson.RawValue, _ string) (string, bool) {
	text, err := bson.MarshalExtJSON(bson.D{{"v", v}}, false, false)
	if err != nil {
		return "", false
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(text), `{"v":`), "}"), true
}

// formatInteger writes a double without a fraction as an integer that the column can read.
func formatInteger(v bson.RawValue, arg string) (string, bool) {
	if f, ok := v.DoubleOK(); ok && f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return strconv.FormatInt(int64(f), 10), true
	}
	return formatAuto(v, arg)
}

// formatAuto writes a value as a person would. Values without such a form are written as Extended
// JSON.
func formatAuto(v bson.RawValue, arg string) (string, bool) {
	switch v.Type {
	case bson.TypeString:
		return v.StringValue(), true
	case bson.TypeInt32:
		return strconv.FormatInt(int64(v.Int32()), 10), true
	case bson.TypeInt64:
		return strconv.FormatInt(v.Int64(), 10), true
	case bson.TypeDouble:
		return printDouble(v.Double()), true
	case bson.TypeDecimal128:
		return v.Decimal128().String(), true
	case bson.TypeBoolean:
		return strconv.FormatBool(v.Boolean()), true
	case bson.TypeObjectID:
		return v.ObjectID().Hex(), true
	case bson.TypeDateTime:
		return formatDate(v, "")
	case bson.TypeNull, bson.TypeUndefined:
		return "", true
	default:
		return formatJSON(v, arg)
	}
}
