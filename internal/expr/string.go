package expr

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func StringOperators() []Definition {
	return []Definition{
		lazily(opAssociative("$concat", "string", assocFull, concat), 1),
		mapASCII("$toLower", 'A', 'Z'),
		mapASCII("$toUpper", 'a', 'z'),
		make2("$strcasecmp", "string", strcasecmp),
		calledElse(makeN("$substr", "string", 3, 3, substrBytes), "$substrBytes"),
		makeN("$substrBytes", "string", 3, 3, substrBytes),
		makeN("$substrCP", "string", 3, 3, substrCP),
		make1("$strLenBytes", "string", strLenBytes),
		make1("$strLenCP", "string", strLenCP),
		watch2("$split", "string", split),
		lazily(makeN("$indexOfBytes", "string", 2, 4, indexOfBytes), 1, bsonx.Missing, bsonx.String(""), bsonx.Int32(0), bsonx.Int32(0)),
		lazily(makeN("$indexOfCP", "string", 2, 4, indexOfCP), 1, bsonx.Missing, bsonx.String(""), bsonx.Int32(0), bsonx.Int32(0)),
	}
}

// calledElse names an operator by another name in messages, because it is the same as that one.
func calledElse(def Definition, name string) Definition {
	def.called = name
	return def
}

func concat(out *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) {
	n := 0
	for _, v := range args {
		if Nullish(v) {
			return bsonx.Null, nil
		}
		if v.Type != bsonx.TypeString {
			return bsonx.Missing, mongoerr.New(16702, "$concat only supports strings, not %s", v.Type)
		}
		n += len(v.StrBytes())
	}
	if err := checkText(n); err != nil {
		return bsonx.Missing, err
	}
	joined, text := out.Text(n)
	for _, v := range args {
		text = text[copy(text, v.StrBytes()):]
	}
	return joined, nil
}

// coerceText converts a value to text as the old string operators do: null is empty, numbers and dates are printed.
func coerceText(v bsonx.Value) (string, error) {
	switch v.Type {
	case bsonx.TypeMissing, bsonx.TypeNull, bsonx.TypeUndefined:
		return "", nil
	case bsonx.TypeString, bsonx.TypeSymbol, bsonx.TypeCode:
		return v.Str(), nil
	case bsonx.TypeDouble:
		return strings.Replace(formatDouble(v.Double()), "Infinity", "inf", 1), nil
	case bsonx.TypeInt32:
		return strconv.Itoa(int(v.Int32())), nil
	case bsonx.TypeInt64:
		return strconv.FormatInt(v.Int64(), 10), nil
	case bsonx.TypeDecimal128:
		return formatDecimal(v), nil
	case bsonx.TypeDate:
		return formatISODate(v.Int64())
	case bsonx.TypeTimestamp:
		t, i := v.Timestamp()
		return time.Unix(int64(t), 0).UTC().Format("Jan _2 15:04:05") + ":" + strconv.Itoa(int(i)), nil
	default:
		return "", mongoerr.New(16007, "can't convert from BSON type %s to String", v.Type)
	}
}

// mapASCII makes an operator that changes the case of the letters from low to high; other characters stay.
func mapASCII(name string, low, high byte) Definition {
	return make1(name, "string", func(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
		text, err := textOf(v)
		if err != nil {
			return bsonx.Missing, err
		}
		mapped, to := out.Text(len(text))
		foldASCII(to, text, low, high)
		return mapped, nil
	})
}

func foldASCII(to, text []byte, low, high byte) {
	for i, c := range text {
		if c >= low && c <= high {
			c ^= 0x20
		}
		to[i] = c
	}
}

// textOf is coerceText without a copy of strings.
func textOf(v bsonx.Value) ([]byte, error) {
	if v.Type == bsonx.TypeString {
		return v.StrBytes(), nil
	}
	text, err := coerceText(v)
	return []byte(text), err
}

// compareFolded compares as if all letters were upper case.
func compareFolded(a, b []byte) int {
	upper := func(c byte) byte {
		if c >= 'a' && c <= 'z' {
			c ^= 0x20
		}
		return c
	}
	for i := range min(len(a), len(b)) {
		if c := cmp.Compare(upper(a[i]), upper(b[i])); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func strcasecmp(out *bsonx.Arena, a, b bsonx.Value) (bsonx.Value, error) {
	x, err := textOf(a)
	if err != nil {
		return bsonx.Missing, err
	}
	y, err := textOf(b)
	if err != nil {
		return bsonx.Missing, err
	}
	return out.Int32(int32(compareFolded(x, y))), nil
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
		return bsonx.Missing, ErrOutOfLong(args[1])
	}
	length, ok := evenInt64(args[2])
	if !ok {
		return bsonx.Missing, ErrOutOfLong(args[2])
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

// evenInt64 converts a number to an int64: a double is cut off, a decimal rounded with halves to even.
func evenInt64(v bsonx.Value) (int64, bool) {
	if v.Type == bsonx.TypeDecimal128 {
		return roundedInt64(v)
	}
	return v.AsInt64()
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

// textIn makes a string of a copy of text.
func textIn(out *bsonx.Arena, text []byte) bsonx.Value {
	v, to := out.Text(len(text))
	copy(to, text)
	return v
}

func codePoints(v bsonx.Value, what string, code mongoerr.Code) (int, error) {
	if !v.Type.IsNumber() {
		return 0, mongoerr.New(code, "$substrCP: %s must be a numeric type (is BSON type %s)", what, v.Type)
	}
	n, ok := asInt32(v)
	if !ok {
		return 0, mongoerr.New(code+1, "$substrCP: %s cannot be represented as a 32-bit integral value: %s", what, Show(v))
	}
	return n, nil
}

// skipCodePoints returns the byte position after n code points, or the end; false if a byte on the way begins none. As in MongoDB, the
// bytes behind the first of a code point are not looked at.
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

// countCodePoints counts the bytes that do not continue a code point.
func countCodePoints(text []byte) int {
	n := 0
	for _, c := range text {
		if utf8.RuneStart(c) {
			n++
		}
	}
	return n
}

func strLenBytes(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
	if v.Type != bsonx.TypeString {
		return bsonx.Missing, mongoerr.New(34473, "$strLenBytes requires a string argument, found: %s", v.Type)
	}
	return out.Int32(int32(len(v.StrBytes()))), nil
}

func strLenCP(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
	if v.Type != bsonx.TypeString {
		return bsonx.Missing, mongoerr.New(34471, "$strLenCP requires a string argument, found: %s", v.Type)
	}
	return out.Int32(int32(countCodePoints(v.StrBytes()))), nil
}

func split(text, separator bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	if Nullish(text) || Nullish(separator) {
		return bsonx.Null, nil
	}
	if text.Type != bsonx.TypeString {
		return bsonx.Missing, mongoerr.New(40085, "$split requires an expression that evaluates to a string as a first argument, found: %s", text.Type)
	}
	if separator.Type != bsonx.TypeString {
		return bsonx.Missing, mongoerr.New(40086, "$split requires an expression that evaluates to a string as a second argument, found: %s", separator.Type)
	}
	if len(separator.StrBytes()) == 0 {
		return bsonx.Missing, mongoerr.New(40087, "$split requires a non-empty separator")
	}
	size := splitBytes(text.StrBytes(), separator.StrBytes())
	if err := memory.Of(running.Context()).Value(int64(size)); err != nil {
		return bsonx.Missing, err
	}
	var meter interrupt.Meter
	b := bsonx.NewBuilder(make([]byte, 0, size))
	b.StartArray()
	for part := range bytes.SplitSeq(text.StrBytes(), separator.StrBytes()) {
		if err := meter.Did(interrupt.Step+len(part), running); err != nil {
			return bsonx.Missing, err
		}
		b.Elem(bsonx.String(string(part)))
		if err := checkBytes("$split", b.Len()); err != nil {
			return bsonx.Missing, err
		}
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}

// splitBytes returns how large the parts of a text are as an array, at most.
func splitBytes(text, separator []byte) int {
	parts := 1 + bytes.Count(text, separator)
	index := len(strconv.Itoa(parts))
	return min(len(text)+parts*(index+stringRoom), MaxExpressionBytes) + stringRoom
}

// stringRoom is what an element that is a string takes in an array beside its bytes and its index:
// type, end of the index, length, end of the string.
const stringRoom = 7

func indexOfBytes(out *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) {
	return indexOf(out, "$indexOfBytes", 40091, args, func(text []byte) int { return len(text) }, indexWithin)
}

func indexOfCP(out *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) {
	return indexOf(out, "$indexOfCP", 40093, args, countCodePoints, indexOfCodePoints)
}

// indexWithin searches bytes between two places: what is found ends before the second.
func indexWithin(text, sought []byte, from, to int) int {
	if i := bytes.Index(text[from:to], sought); i >= 0 {
		return from + i
	}
	return -1
}

// indexOfCodePoints searches between two code points: what is found begins before the second, as within MongoDB, and may end behind it.
// So the empty string is found in front of a code point, and in the empty string, but not at an end.
func indexOfCodePoints(text, sought []byte, from, to int) int {
	if len(text) == 0 && len(sought) == 0 {
		return 0
	}
	start, ok := skipCodePoints(text, from)
	if !ok {
		return -1
	}
	i := bytes.Index(text[start:], sought)
	if i < 0 {
		return -1
	}
	if at := from + countCodePoints(text[start:start+i]); at < to {
		return at
	}
	return -1
}

// indexOf searches a string in units (bytes or code points): length counts them, and search looks between two of them.
func indexOf(out *bsonx.Arena, name string, code mongoerr.Code, args []bsonx.Value,
	length func([]byte) int, search func(text, sought []byte, from, to int) int,
) (bsonx.Value, error) {
	if Nullish(args[0]) {
		return bsonx.Null, nil
	}
	if args[0].Type != bsonx.TypeString {
		return bsonx.Missing, mongoerr.New(code, "%s requires a string as the first argument, found: %s", name, args[0].Type)
	}
	if args[1].Type != bsonx.TypeString {
		return bsonx.Missing, mongoerr.New(code+1, "%s requires a string as the second argument, found: %s", name, args[1].Type)
	}
	text, sought := args[0].StrBytes(), args[1].StrBytes()
	units := length(text)
	from, to, err := searchBounds(name, args[2:], units)
	if err != nil {
		return bsonx.Missing, err
	}
	if from > units || to < from {
		return out.Int32(-1), nil
	}
	return out.Int32(int32(search(text, sought, from, to))), nil
}
