package str

import (
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// substrDefinition defines $substr, the old name of $substrBytes. Error messages use the new name.
func substrDefinition() expr.Definition {
	def := substrBytesDefinition()
	def.Name, def.Called = "$substr", def.Name
	return def
}

func substrBytesDefinition() expr.Definition {
	return expr.Definition{
		Name: "$substrBytes", Family: family, Parse: expr.MakeN(substrBytes),
		Min: 3, Max: 3,
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func substrBytes(out *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) {
	text, err := textOf(args[0])
	if err != nil {
		return bsonx.Missing, err
	}
	if !args[1].Type.IsNumber() {
		return bsonx.Missing, mongoerr.New(16034, "$substrBytes:  starting index must be a numeric type (is BSON type %s)", args[1].Type)
	}
	if !args[2].Type.IsNumber() {
		return bsonx.Missing, mongoerr.New(16035, "$substrBytes:  length must be a numeric type (is BSON type %s)", args[2].Type)
	}
	start, ok := evenInt64(args[1])
	if !ok {
		return bsonx.Missing, expr.ErrOutOfLong(args[1])
	}
	length, ok := evenInt64(args[2])
	if !ok {
		return bsonx.Missing, expr.ErrOutOfLong(args[2])
	}
	if start < 0 {
		return bsonx.Missing, mongoerr.New(50752, "$substrBytes:  starting index must be non-negative (got: %d)", start)
	}
	from := int(min(start, int64(len(text))))
	if from < len(text) && !utf8.RuneStart(text[from]) {
		return bsonx.Missing, mongoerr.New(28656, "$substrBytes:  Invalid range, starting index is a UTF-8 continuation byte.")
	}
	end := len(text)
	if length >= 0 && length < int64(len(text)-from) {
		end = from + int(length)
	}
	if end < len(text) && !utf8.RuneStart(text[end]) {
		return bsonx.Missing, mongoerr.New(28657, "$substrBytes:  Invalid range, ending index is in the middle of a UTF-8 character.")
	}
	return textIn(out, text[from:end]), nil
}

// evenInt64 converts a number to an int64. It truncates a double, and rounds a decimal with halves
// to the even neighbour.
func evenInt64(v bsonx.Value) (int64, bool) {
	if v.Type == bsonx.TypeDecimal128 {
		return expr.RoundedInt64(v)
	}
	return v.AsInt64()
}

func substrCPDefinition() expr.Definition {
	return expr.Definition{
		Name: "$substrCP", Family: family, Parse: expr.MakeN(substrCP),
		Min: 3, Max: 3,
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func substrCP(out *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) {
	text, err := textOf(args[0])
	if err != nil {
		return bsonx.Missing, err
	}
	start, err := codePoints(args[1], "starting index", 34450)
	if err != nil {
		return bsonx.Missing, err
	}
	length, err := codePoints(args[2], "length", 34452)
	if err != nil {
		return bsonx.Missing, err
	}
	if length < 0 {
		return bsonx.Missing, mongoerr.New(34454, "$substrCP: length must be a nonnegative integer.")
	}
	if start < 0 {
		return bsonx.Missing, mongoerr.New(34455, "$substrCP: the starting index must be nonnegative integer.")
	}
	from, ok := skipCodePoints(text, start)
	if !ok {
		return bsonx.Missing, mongoerr.New(34456, "$substrCP: invalid UTF-8 string")
	}
	size, ok := skipCodePoints(text[from:], length)
	if !ok {
		return bsonx.Missing, mongoerr.New(34458, "$substrCP: invalid UTF-8 string")
	}
	return textIn(out, text[from:from+size]), nil
}

func codePoints(v bsonx.Value, what string, code mongoerr.Code) (int, error) {
	if !v.Type.IsNumber() {
		return 0, mongoerr.New(code, "$substrCP: %s must be a numeric type (is BSON type %s)", what, v.Type)
	}
	n, ok := expr.AsInt32(v)
	if !ok {
		return 0, mongoerr.New(code+1, "$substrCP: %s cannot be represented as a 32-bit integral value: %s", what, expr.Show(v))
	}
	return n, nil
}

// skipCodePoints returns the byte position after n code points, or the length of text if it is
// shorter. It returns false if a byte cannot begin a code point. Like MongoDB, it does not check
// the continuation bytes.
func skipCodePoints(text []byte, n int) (int, bool) {
	i := 0
	for ; n > 0 && i < len(text); n-- {
		switch c := text[i]; {
		case c < utf8.RuneSelf:
			i++
		case c < 0xC0 || c >= 0xF8:
			return 0, false
		case c < 0xE0:
			i += 2
		case c < 0xF0:
			i += 3
		default:
			i += 4
		}
	}
	return min(i, len(text)), true
}
