package date

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/expr"
)

// match parses the text with a format. It records errors and continues.
func (d *dateText) match(format []byte) {
	at := 0
	i := 0
	for ; i < len(format) && at < len(d.text) && !d.task.Stopped(expr.StepWork); i++ {
		if format[i] == '%' {
			i++
			if format[i] != '%' {
				at = d.matchSpecifier(format[i], at)
				continue
			}
		}
		if d.text[at] != format[i] {
			d.fail(at, "Format literal not found")
		}
		at++
	}
	if at < len(d.text) {
		d.fail(at, "Trailing data")
	}
	if i < len(format) {
		d.fail(at, "Not enough data available to satisfy format")
	}
}

// numberSpecifiers is the largest number of digits for each numeric specifier.
var numberSpecifiers = map[byte]int{
	'd': 2, 'm': 2, 'Y': 4, 'G': 4, 'V': 2, 'u': 1, 'j': 3,
	'H': 2, 'M': 2, 'S': 2, 'L': 3,
}

// matchSpecifier parses the value of one specifier at position at, and returns the position after
// it.
func (d *dateText) matchSpecifier(specifier byte, at int) int {
	switch specifier {
	case 'b', 'B':
		end := at
		for end < len(d.text) && isLetter(d.text[end]) {
			end++
		}
		month, ok := monthByName[strings.ToLower(d.text[at:end])]
		if !ok {
			d.fail(at, "A textual month could not be found")
			return end
		}
		d.month = some(month)
		return end
	case 'z':
		return d.readZone(at)
	case 'Z':
		return d.matchMinutes(at)
	}
	start := at
	if !IsDigit(d.text[at]) {
		d.fail(at, "Unexpected data found.")
		for start < len(d.text) && !IsDigit(d.text[start]) {
			start++
		}
	}
	end := start
	for end < len(d.text) && end-start < numberSpecifiers[specifier] && IsDigit(d.text[end]) {
		end++
	}
	n, _ := digits(d.text[start:end])
	d.setNumber(specifier, n, end-start, at)
	return end
}

// setNumber sets the part of the date for a numeric specifier.
func (d *dateText) setNumber(specifier byte, n int64, width, at int) {
	switch specifier {
	case 'd':
		d.day = some(n)
	case 'm':
		d.month = some(n)
	case 'Y':
		d.year = some(n)
	case 'G':
		d.isoYear = some(n)
	case 'V':
		if n < 1 || n > 53 {
			d.fail(at, "ISO Week must be between 1 and 53")
		}
		d.isoWeek = some(n)
	case 'u':
		if n < 1 || n > 7 {
			d.fail(at, "Day of week must be between 1 and 7")
		}
		d.isoDay = some(n)
	case 'j':
		d.setDayOfYear(n, at)
	case 'H':
		d.hour = some(n)
	case 'M':
		if width != 2 {
			d.fail(at, "A two digit minute could not be found")
		}
		d.minute = some(n)
	case 'S':
		if width != 2 {
			d.fail(at, "A two digit second could not be found")
		}
		d.second = some(n)
	case 'L':
		for ; width < 6; width++ {
			n *= 10
		}
		d.micros = n
	}
}

// setDayOfYear sets month and day from a day of the year. MongoDB counts this day from 0 when it
// parses, although it counts from 1 when it formats.
func (d *dateText) setDayOfYear(n int64, at int) {
	if !d.year.set {
		d.fail(at, "A 'day of year' can only come after a year has been found")
		return
	}
	year, month, day := dateOfDays(daysOf(d.year.n, 1, 1) + n)
	d.year, d.month, d.day = some(year), some(month), some(day)
}

// matchMinutes parses a time zone offset in minutes with a sign.
func (d *dateText) matchMinutes(at int) int {
	sign := int64(1)
	switch d.text[at] {
	case '-':
		sign = -1
	case '+':
	default:
		d.fail(at, "Invalid timezone offset in minutes")
		return at
	}
	end := at + 1
	for end < len(d.text) && end-at <= 5 && IsDigit(d.text[end]) {
		end++
	}
	n, _ := digits(d.text[at+1 : end])
	d.zone, d.offset = offsetZoneText, sign*n*60
	return end
}

// readZone parses a time zone offset or abbreviation, which may be in parentheses, and returns the
// position after it.
func (d *dateText) readZone(at int) int {
	for at < len(d.text) && strings.IndexByte(" \t(", d.text[at]) >= 0 {
		at++
	}
	rest := d.text[at:]
	if len(rest) > 3 && strings.EqualFold(rest[:3], "GMT") && (rest[3] == '+' || rest[3] == '-') {
		at += 3
	}
	if at == len(d.text) {
		return at
	}
	end := at
	if c := d.text[at]; c == '+' || c == '-' {
		end = d.readOffset(at)
	} else {
		for end < len(d.text) && strings.IndexByte(" \t\n)", d.text[end]) < 0 &&
			(isLetter(d.text[end]) || !isLetter(d.text[at]) || strings.IndexByte("/_-", d.text[end]) >= 0) {
			end++
		}
		name := strings.ToLower(d.text[at:end])
		seconds, ok := zoneAbbreviations[name]
		if !ok {
			d.fail(at, "passing a time zone identifier as part of the string is not allowed")
		}
		d.zone, d.offset = name, seconds*60
	}
	if end < len(d.text) && d.text[end] == ')' {
		end++
	}
	return end
}

// readOffset parses an offset such as +1, +01, +130, +0130, +1:30 or +01:30, also with seconds.
func (d *dateText) readOffset(at int) int {
	end := at + 1
	for end < len(d.text) && (IsDigit(d.text[end]) || d.text[end] == ':') {
		end++
	}
	fields := strings.Split(d.text[at+1:end], ":")
	if len(fields) == 1 && len(fields[0]) > 2 {
		f := fields[0]
		if len(f)%2 == 1 {
			f = "0" + f
		}
		fields = fields[:0]
		for i := 0; i < len(f); i += 2 {
			fields = append(fields, f[i:i+2])
		}
	}
	seconds, unit := int64(0), int64(3600)
	for _, field := range fields {
		n, _ := digits(field)
		seconds += n * unit
		unit /= 60
	}
	if len(fields) > 3 || fields[0] == "" {
		d.fail(at, "Timezone offset could not be read")
	}
	if d.text[at] == '-' {
		seconds = -seconds
	}
	d.zone, d.offset = offsetZoneText, seconds
	return end
}

// IsDigit reports whether a byte is an ASCII digit.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// monthByName maps the lower-case names of months in texts to their numbers.
var monthByName = map[string]int64{
	"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9,
	"oct": 10, "nov": 11, "dec": 12,
	"january": 1, "february": 2, "march": 3, "april": 4, "june": 6, "july": 7, "august": 8,
	"september": 9, "october": 10,
	"november": 11, "december": 12,
	"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9, "x": 10, "xi": 11, "xii": 12,
}

// zoneAbbreviations maps the lower-case abbreviations of time zones in texts to their offsets in
// minutes.
var zoneAbbreviations = map[string]int64{
	"utc": 0, "gmt": 0, "wet": 0, "west": 60, "bst": 60, "ist": 120, "cet": 60, "cest": 120, "met": 60, "mest": 120,
	"eet": 120, "eest": 180, "sast": 120, "cat": 120, "eat": 180, "wat": 60, "msk": 180, "msd": 240, "idt": 180,
	"hkt": 480, "jst": 540, "kst": 540, "pkt": 300, "awst": 480, "acst": 570, "acdt": 630, "aest": 600, "aedt": 660,
	"nzst": 720, "nzdt": 780, "est": -300, "edt": -240, "cst": -360, "cdt": -300, "mst": -420, "mdt": -360,
	"pst": -480, "pdt": -420, "akst": -540, "akdt": -480, "hst": -600, "hdt": -540, "ast": -240,
	"adt": -180, "nst": -210, "ndt": -150,
	"sst": -660, "chst": 600, "wib": 420, "wita": 480, "wit": 540,
	"a": 60, "b": 120, "c": 180, "d": 240, "e": 300, "f": 360, "g": 420, "h": 480,
	"i": 540, "k": 600, "l": 660, "m": 720,
	"n": -60, "o": -120, "p": -180, "q": -240, "r": -300, "s": -360, "t": -420, "u": -480, "v": -540,
	"w": -600, "x": -660, "y": -720, "z": 0,
}
