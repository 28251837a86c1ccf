package transfer

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDigits is the number of digits that a double always preserves.
const maxDigits = 15

// leastNormal is the smallest normal double. Smaller doubles have fewer digits.
const leastNormal = 0x1p-1022

// keepsDouble parses a number. It reports whether a double holds it exactly enough: printed with as
// many digits as the number has, the double gives the same number. That is true for every number
// that a program prints for a double, with up to 17 digits. It is false for 0.12345678901234567890,
// 1e-400 or 1e400.
func keepsDouble(number string) (f float64, ok bool) {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, false
	}
	digits := significant(number)
	switch {
	case digits == "":
		return f, true
	case f == 0:
		return 0, false
	case len(digits) <= maxDigits && (f >= leastNormal || f <= -leastNormal):
		return f, true
	}
	// For a power of two the shortest text is not always the nearest text of that length.
	return f, significant(strconv.FormatFloat(f, 'e', len(digits)-1, 64)) == digits ||
		significant(strconv.FormatFloat(f, 'e', -1, 64)) == digits
}

// significant returns the digits of a number before its exponent, without zeros at both ends.
func significant(number string) string {
	mantissa := number
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		mantissa = number[:i]
	}
	whole, fraction, _ := strings.Cut(strings.TrimLeft(mantissa, "+-"), ".")
	return strings.Trim(whole+fraction, "0")
}

// printedDouble parses a number in the form in which programs print doubles: with the fewest digits
// that identify the double, and a sign in the exponent. Printing the double gives the same text.
func printedDouble(text string) (f float64, ok bool) {
	if text == "" || strings.IndexByte("-0123456789", text[0]) < 0 {
		return 0, false // for example the words "nan" and "inf"
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	if strings.IndexByte(text, 'e') < 0 {
		// A text without a point is a long integer, which is a code, or -0, which only a double can
		// hold.
		return f, text == "-0" || text == withPoint(f)
	}
	padded := strconv.FormatFloat(f, 'e', -1, 64) // two digits of the exponent at least
	mantissa, exponent, _ := strings.Cut(padded, "e")
	return f, text == padded || text == mantissa+"e"+exponent[:1]+strings.TrimPrefix(exponent[1:], "0")
}

// printDouble returns a text that is parsed as the same double.
func printDouble(f float64) string {
	if size := math.Abs(f); size >= 1e21 || size < 1e-6 && f != 0 || math.IsNaN(f) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return withPoint(f)
}

// withPoint returns the text of a double without an exponent.
func withPoint(f float64) string {
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if strings.IndexByte(text, '.') < 0 {
		text += ".0"
	}
	return text
}

// checkLosses returns an error if valid JSON has content that no document can hold: text that is
// not UTF-8, half a surrogate pair or, unless rounds is set, a number that is not exact.
func checkLosses(text []byte, rounds bool) error {
	if !utf8.Valid(text) {
		return errors.New("the text is not UTF-8")
	}
	if err := checkEscapes(text); err != nil || rounds {
		return err
	}
	return checkNumbers(text)
}

// checkEscapes returns an error for the first escape in valid JSON that is half a surrogate pair,
// because it does not stand for a character.
func checkEscapes(text []byte) error {
	for i := bytes.IndexByte(text, '\\'); i >= 0 && i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if text[i] != 'u' {
			continue
		}
		first, second := escaped(text[i-1:]), escaped(text[i+5:])
		switch {
		case !utf16.IsSurrogate(first):
			i += 4
		case utf16.DecodeRune(first, second) != utf8.RuneError:
			i += 10
		default:
			return fmt.Errorf("the escape %s is half a surrogate pair, which is not a character", text[i-1:i+5])
		}
	}
	return nil
}

// escaped returns the rune of the escape \uXXXX at the beginning of text, or 0.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}

// checkNumbers returns an error for the first number of valid JSON that would lose digits: an
// integer beyond 64 bits, or another number that a double does not hold exactly.
func checkNumbers(text []byte) error {
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '"':
			i = endOfString(text, i)
		case b == '-' || b >= '0' && b <= '9':
			from := i
			for i+1 < len(text) && strings.IndexByte("+-.eE0123456789", text[i+1]) >= 0 {
				i++
			}
			if err := checkNumber(text[from : i+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// endOfString returns the index of the quote that ends the string that begins at i.
func endOfString(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// checkNumber returns an error for a JSON number that would lose digits.
func checkNumber(number []byte) error {
	if bytes.ContainsAny(number, "eE") {
		// Even a short number can have an exponent that is out of range for a double.
	} else if len(number) <= maxDigits {
		return nil
	} else if bytes.IndexByte(number, '.') < 0 {
		if _, err := strconv.ParseInt(string(number), 10, 64); err != nil {
			return &numberError{"the integer " + string(number) + " does not fit into 64 bits", number}
		}
		return nil
	}
	if _, ok := keepsDouble(string(number)); !ok {
		return &numberError{"a double does not keep the number " + string(number), number}
	}
	return nil
}

// orRound adds to an error about a number that an import can round it.
func orRound(err error) error {
	if lost := new(numberError); errors.As(err, &lost) {
		return fmt.Errorf("%w, or let numbers be rounded", err)
	}
	return err
}

// numberError is the error for a JSON number that would lose digits.
type numberError struct {
	what   string
	number []byte
}

// Error says how to write the number without a loss.
func (e *numberError) Error() string {
	return fmt.Sprintf("%s: write {\"$numberDecimal\": \"%s\"}, or a string", e.what, e.number)
}
