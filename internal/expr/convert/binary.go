package convert

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The formats in which $convert converts between strings and binary data.
const (
	formatAuto      = "auto"
	formatBase64    = "base64"
	formatBase64URL = "base64url"
	formatHex       = "hex"
	formatUTF8      = "utf8"
	formatUUID      = "uuid"
)

const uuidSubtype = 4

// converter contains the target type and the options of a conversion.
type converter struct {
	to        bsonx.Type
	subtype   byte
	format    string // empty if absent
	bigEndian bool
	base      int // the base of an integer as text; 0 if absent
}

// readFormat parses the argument format; null counts as absent.
func readFormat(v bsonx.Value) (string, error) {
	if expr.Nullish(v) {
		return "", nil
	}
	if v.Type != bsonx.TypeString {
		return "", mongoerr.New(4341114, "$convert requires that 'format' be a string, found: %s with value %s", v.Type, expr.Show(v))
	}
	switch s := v.Str(); s {
	case formatAuto, formatBase64, formatBase64URL, formatHex, formatUTF8, formatUUID:
		return s, nil
	default:
		return "", mongoerr.New(4341125, "Invalid 'format' argument for $convert: %s", s)
	}
}

// readByteOrder parses the argument byteOrder; null means little-endian.
func readByteOrder(v bsonx.Value) (bigEndian bool, err error) {
	if expr.Nullish(v) {
		return false, nil
	}
	if v.Type != bsonx.TypeString {
		return false, mongoerr.New(9130001, "$convert requires that 'byteOrder' be a string, found: %s with value %s", v.Type, expr.Show(v))
	}
	switch s := v.Str(); s {
	case "little", "big":
		return s == "big", nil
	default:
		return false, mongoerr.New(9130002, "Invalid 'byteOrder' argument for $convert: %s", s)
	}
}

// readBase parses the argument base; null counts as absent.
func readBase(v bsonx.Value) (int, error) {
	if expr.Nullish(v) {
		return 0, nil
	}
	n, ok := expr.AsInt32(v)
	if !ok {
		return 0, mongoerr.New(3501300, "In $convert, 'base' argument is not an integer")
	}
	switch n {
	case 2, 8, 10, 16:
		return n, nil
	}
	return 0, mongoerr.New(3501301, "In $convert, 'base' argument is not a valid base")
}

// readSubtype parses the subtype of binary data; a missing value means 0.
func readSubtype(v bsonx.Value) (byte, error) {
	if v.IsMissing() {
		return 0, nil
	}
	if !v.Type.IsNumber() {
		return 0, mongoerr.New(4341108, "For BinData, $convert's 'subtype' argument must be a number, but is %s", v.Type)
	}
	n, ok := expr.AsInt32(v)
	if !ok {
		return 0, mongoerr.New(4341106, "In $convert, numeric 'subtype' argument is not an integer")
	}
	// Subtype 2 stores a second length in its data, and subtype 7 is internal to the server.
	if known := n >= 0 && n <= 9 && n != 2 && n != 7; !known && (n < 128 || n > 255) {
		return 0, mongoerr.New(4341107, "In $convert, numeric value for 'subtype' does not correspond to a BinData type: %d", n)
	}
	return byte(n), nil
}

func noFormat(from, to bsonx.Type) error {
	return mongoerr.New(4341115, "Format must be speficied when converting from '%s' to '%s'", from, to)
}

// toBinary converts a value to binary data. Text is decoded with the format, and numbers become
// their bytes.
func (c *converter) toBinary(v bsonx.Value) (bsonx.Value, error) {
	order := binary.AppendByteOrder(binary.LittleEndian)
	if c.bigEndian {
		order = binary.BigEndian
	}
	switch v.Type {
	case bsonx.TypeBinary:
		if subtype, _ := v.Binary(); subtype != c.subtype {
			return bsonx.Missing, mongoerr.New(mongoerr.ConversionFailure, "Conversions between different BinData subtypes are not supported")
		}
		return v, nil
	case bsonx.TypeInt32:
		return bsonx.Binary(c.subtype, order.AppendUint32(nil, uint32(v.Int32()))), nil
	case bsonx.TypeInt64:
		return bsonx.Binary(c.subtype, order.AppendUint64(nil, uint64(v.Int64()))), nil
	case bsonx.TypeDouble:
		return bsonx.Binary(c.subtype, order.AppendUint64(nil, math.Float64bits(v.Double()))), nil
	case bsonx.TypeString:
		if c.format == "" {
			return bsonx.Missing, noFormat(v.Type, bsonx.TypeBinary)
		}
		text := v.Str()
		data, err := c.decode(text)
		if err != nil {
			return bsonx.Missing, mongoerr.New(mongoerr.ConversionFailure,
				"Failed to parse BinData '%s' in $convert with no onError value: %s", text, err)
		}
		return bsonx.Binary(c.subtype, data), nil
	default:
		return bsonx.Missing, unsupported(v, bsonx.TypeBinary)
	}
}

// decode decodes text with the format. The UUID subtype requires the format uuid, and this format
// is invalid for other subtypes.
func (c *converter) decode(text string) ([]byte, error) {
	if (c.format == formatUUID) != (c.subtype == uuidSubtype) {
		return nil, fmt.Errorf("Only the 'uuid' format is allowed with the UUID subtype") //nolint:staticcheck // MongoDB's words
	}
	switch c.format {
	case formatBase64:
		data, err := base64.StdEncoding.DecodeString(oneLine(text))
		return data, because(err, "invalid base64")
	case formatBase64URL:
		data, err := base64.RawURLEncoding.DecodeString(oneLine(strings.TrimRight(text, "=")))
		return data, because(err, "Invalid base64 character")
	case formatHex:
		data, err := hex.DecodeString(text)
		if err == nil {
			return data, nil
		}
		reason := "Hex blob with odd digit count"
		if bad := notHex(text); len(text)%2 == 0 && bad >= 0 {
			reason = fmt.Sprintf(`The character \x%02x failed to parse from hex.`, text[bad])
		}
		return nil, errors.New(reason)
	case formatUTF8:
		return []byte(text), nil
	case formatUUID:
		return parseUUID(text)
	default:
		return nil, fmt.Errorf("Invalid format '%s'", c.format) //nolint:staticcheck // MongoDB's words
	}
}

// because replaces an error by one with MongoDB's text. It returns nil if err is nil.
func because(err error, words string) error {
	if err == nil {
		return nil
	}
	return errors.New(words)
}

// oneLine returns invalid base64 if text contains line breaks, which the decoder would ignore.
func oneLine(text string) string {
	if strings.ContainsAny(text, "\r\n") {
		return "!"
	}
	return text
}

// parseUUID parses a UUID of 8-4-4-4-12 hexadecimal digits.
func parseUUID(text string) ([]byte, error) {
	var data []byte
	if len(text) == len("00000000-0000-0000-0000-000000000000") {
		// If decoding fails, data has fewer than 16 bytes, which is an error below.
		data, _ = hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	}
	if len(data) != 16 || formatUUIDText(data) != strings.ToLower(text) {
		return nil, fmt.Errorf("Invalid UUID string: %s", text) //nolint:staticcheck // MongoDB's words
	}
	return data, nil
}

func formatUUIDText(data []byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", data[:4], data[4:6], data[6:8], data[8:10], data[10:])
}

// binaryText converts binary data to text with the format.
func (c *converter) binaryText(v bsonx.Value) (bsonx.Value, error) {
	subtype, data := v.Binary()
	if err := expr.CheckText(len(data)); err != nil {
		return bsonx.Missing, err
	}
	isUUID := subtype == uuidSubtype && len(data) == 16
	invalid := func(what string) error {
		return mongoerr.New(mongoerr.ConversionFailure,
			"Failed to convert '%s' to string in $convert with no onError value: BinData does not represent a valid %s", expr.ShowBinary(v), what)
	}
	format := c.format
	if format == formatAuto {
		format = formatBase64
		if isUUID {
			format = formatUUID
		}
	}
	switch format {
	case "":
		return bsonx.Missing, noFormat(v.Type, bsonx.TypeString)
	case formatBase64URL:
		return bsonx.String(base64.RawURLEncoding.EncodeToString(data)), nil
	case formatHex:
		return bsonx.String(strings.ToUpper(hex.EncodeToString(data))), nil
	case formatUTF8:
		if !utf8.Valid(data) {
			return bsonx.Missing, invalid("UTF-8 string")
		}
		return bsonx.String(string(data)), nil
	case formatUUID:
		if !isUUID {
			return bsonx.Missing, invalid("UUID")
		}
		return bsonx.String(formatUUIDText(data)), nil
	default:
		return bsonx.String(base64.StdEncoding.EncodeToString(data)), nil
	}
}

// binaryNumber decodes a number from its bytes: 1, 2, 4 or (for a long) 8 bytes of an integer, and
// 4 or 8 bytes of a double.
func (c *converter) binaryNumber(v bsonx.Value) (bsonx.Value, error) {
	_, data := v.Binary()
	order := binary.ByteOrder(binary.LittleEndian)
	if c.bigEndian {
		order = binary.BigEndian
	}
	n := len(data)
	switch {
	case c.to == bsonx.TypeDouble && n == 4:
		return bsonx.Double(float64(math.Float32frombits(order.Uint32(data)))), nil
	case c.to == bsonx.TypeDouble && n == 8:
		return bsonx.Double(math.Float64frombits(order.Uint64(data))), nil
	case c.to == bsonx.TypeInt64 && n == 8:
		return bsonx.Int64(int64(order.Uint64(data))), nil
	case c.to == bsonx.TypeDouble || n != 1 && n != 2 && n != 4:
		return bsonx.Missing, mongoerr.New(mongoerr.ConversionFailure,
			"Failed to convert '%s' to number in $convert because of invalid length: %d", expr.ShowBinary(v), n)
	}
	i := int32(0)
	switch n {
	case 1:
		i = int32(int8(data[0]))
	case 2:
		i = int32(int16(order.Uint16(data)))
	default:
		i = int32(order.Uint32(data))
	}
	if c.to == bsonx.TypeInt64 {
		return bsonx.Int64(int64(i)), nil
	}
	return bsonx.Int32(i), nil
}
