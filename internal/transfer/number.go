package transfer

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxDigits is how many digits a double always keeps.
const maxDigits = 15

// leastNormal is the smallest normal double. Smaller ones have fewer digits.
const leastNormal = 0x1p-1022

// keepsDouble reads a number and reports whether a double keeps all of it: rounded to as many
// digits as were written, the double is the number again. That is so for what any program prints of
// a double, which may have 17 digits, and not for 0.12345678901234567890, 1e-400 or 1e400.
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
	// The shortest text of a power of two is not always its nearest text of that length.
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

// checkNumbers returns an error for the first number of valid JSON that loses something: an integer
// beyond 64 bits, or another number that is not what a double holds.
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

// checkNumber returns an error for a number of JSON that loses something.
func checkNumber(number []byte) error {
	if bytes.ContainsAny(number, "eE") {
		// Even a short number can have an exponent that no double has.
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

// orRound adds to an error of a number what an import offers besides.
func orRound(err error) error {
	if lost := new(numberError); errors.As(err, &lost) {
		return fmt.Errorf("%w, or let numbers be rounded", err)
	}
	return err
}

// numberError is a number of JSON that loses something.
type numberError struct {
	what   string
	number []byte
}

// Error says how the number is written so that it loses nothing.
func (e *numberError) Error() string {
	return fmt.Sprintf("%s: write {\"$numberDecimal\": \"%s\"}, or a string", e.what, e.number)
}
