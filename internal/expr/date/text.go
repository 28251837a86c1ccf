package date

import (
	"fmt"
	"strings"
	"time"

	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// dateText is the state of parsing a date from text. Parts that the text does not contain are not
// set.
type dateText struct {
	text  string // the text to parse; positions in errors refer to it
	whole string // the text with leading and trailing spaces
	errs  strings.Builder
	// warnings are errors that the message lists after errs.
	warnings strings.Builder
	// end is the position that errors about the text as a whole report.
	end int
	// task checks for an interrupt of the operation, which ends the parsing.
	task *expr.Task

	year, month, day     datePartText
	hour, minute, second datePartText
	micros               int64
	isoYear, isoWeek     datePartText
	isoDay               datePartText

	haveDate, haveTime bool
	zones              int    // the number of time zones in the text
	zone               string // the abbreviation of the time zone in the text, or offsetZoneText
	offset             int64  // the offset of that zone in seconds
	relative           relativeText
}

// datePartText is a number that may be absent: set reports whether it is present.
type datePartText struct {
	n   int64
	set bool
}

// offsetZoneText is the value of dateText.zone for a zone given as an offset.
const offsetZoneText = "+"

func some(n int64) datePartText { return datePartText{n, true} }

// or returns the number, or n if it is absent.
func (d datePartText) or(n int64) int64 {
	if d.set {
		return d.n
	}
	return n
}

// fail records an error at a position of the text.
func (d *dateText) fail(at int, text string) { d.note(&d.errs, at, text) }

// warn records an error that the message lists after the errors of fail.
func (d *dateText) warn(at int, text string) { d.note(&d.warnings, at, text) }

func (d *dateText) note(to *strings.Builder, at int, text string) {
	if to.Len() > mongoerr.MaxMessage {
		return // the message is truncated before this error
	}
	c := byte(0) // MongoDB shows the end of the text as a zero byte
	if at < len(d.text) {
		c = d.text[at]
	}
	fmt.Fprintf(to, "; %d: %s '%s'", at, text, []byte{c})
}

// resolve converts the parsed parts to milliseconds since 1970. zone is the time zone if the text
// contains none.
func (d *dateText) resolve(zone *time.Location) (int64, error) {
	if err := d.task.Err(); err != nil {
		return 0, err
	}
	d.check()
	if d.errs.Len()+d.warnings.Len() > 0 {
		return 0, mongoerr.New(mongoerr.ConversionFailure, "Error parsing date string '%s'%s%s", d.whole,
			d.errs.String(), d.warnings.String())
	}
	if !d.year.set || !d.month.set || !d.day.set {
		return 0, mongoerr.New(mongoerr.ConversionFailure,
			"an incomplete date/time string has been found, with elements missing: \"%s\"", d.whole)
	}
	if d.zone != "" {
		if zone != time.UTC {
			return 0, d.twoZones()
		}
		zone = time.UTC
	}
	return d.shifted(zone)
}

func (d *dateText) twoZones() error {
	if d.zone == offsetZoneText {
		return mongoerr.New(mongoerr.ConversionFailure,
			"you cannot pass in a date/time string with GMT offset together with a timezone argument")
	}
	return mongoerr.New(mongoerr.ConversionFailure,
		"you cannot pass in a date/time string with time zone information ('%s') together with a timezone argument", strings.ToUpper(d.zone))
}

// check records errors for dates and times that do not exist. If the text contains an ISO 8601 week
// date, it sets year, month and day.
func (d *dateText) check() {
	if d.hour.or(0) > 23 || d.minute.or(0) > 59 || d.second.or(0) > 59 {
		d.warn(d.end, "The parsed time was invalid")
	}
	const mixed = "Mixing of ISO dates with natural dates is not allowed"
	iso := d.isoYear.set || d.isoWeek.set || d.isoDay.set
	if iso && d.year.set {
		d.fail(d.end, mixed)
	}
	switch {
	case d.isoYear.set && (d.year.set || d.month.set || d.day.set):
		d.fail(d.end, mixed)
	case d.isoYear.set:
		year, month, day := dateOfDays(daysOfISOWeek(d.isoYear.n, d.isoWeek.or(1), d.isoDay.or(1)))
		d.year, d.month, d.day = some(year), some(month), some(day)
	case iso || !d.exists():
		d.warn(d.end, "The parsed date was invalid")
	}
}

// exists reports whether the month of the date has its day. It returns true for an incomplete date,
// which has its own error.
func (d *dateText) exists() bool {
	if !d.haveDate && !(d.year.set && d.month.set && d.day.set) {
		return true
	}
	if !d.month.set || !d.day.set || d.month.n < 1 || d.month.n > 12 || d.day.n < 1 {
		return false
	}
	return d.day.n <= daysOf(d.year.n, d.month.n+1, 1)-daysOf(d.year.n, d.month.n, 1)
}

// shifted applies the relative parts and converts the result from local time to milliseconds since
// 1970.
func (d *dateText) shifted(zone *time.Location) (int64, error) {
	r := &d.relative
	month := d.month.n + r.months
	day := d.day.n
	switch {
	case r.firstDay:
		day = 1
	case r.lastDay:
		month, day = month+1, 0
	}
	days := daysOf(d.year.n, month, day)
	if r.weekday != 0 {
		ahead := r.weekday - weekday(days)
		if ahead < 0 && r.days >= 0 || ahead > 0 && r.days < 0 {
			ahead += 7
		}
		days += ahead
	}
	millis := ((d.hour.or(0)*60+d.minute.or(0))*60+d.second.or(0))*secondMillis + floorDiv(d.micros, 1000)
	out, ok := instant(days+r.days, millis-d.offset*secondMillis, zone, false)
	if !ok {
		return 0, mongoerr.New(mongoerr.ConversionFailure, "Error parsing date string '%s'", d.whole)
	}
	return out + r.seconds*secondMillis, nil
}

// ReadDate parses a date without a format, as $dateFromString and $toDate do. It returns
// milliseconds since 1970.
func ReadDate(text string, zone *time.Location, t *expr.Task) (int64, error) {
	if millis, ok := readISODate(text); ok && (zone == time.UTC || text[len(text)-1] != 'Z') {
		if zone == time.UTC {
			return millis, nil
		}
		if out, ok := instant(0, millis, zone, false); ok {
			return out, nil
		}
	}
	trimmed := strings.Trim(text, " \t\n\v\f\r")
	d := &dateText{text: trimmed, whole: text, end: len(trimmed) + 1, task: t}
	d.scan()
	return d.resolve(zone)
}

// readISODate parses the usual format 2006-01-02T15:04:05, with or without milliseconds and Z. It
// returns false for all other texts, which the scanner must parse.
func readISODate(text string) (int64, bool) {
	n := len(text)
	if n < 10 || text[4] != '-' || text[7] != '-' {
		return 0, false
	}
	year, ok1 := digits(text[:4])
	month, ok2 := digits(text[5:7])
	day, ok3 := digits(text[8:10])
	if !ok1 || !ok2 || !ok3 || month < 1 || month > 12 || day < 1 {
		return 0, false
	}
	days := daysOf(year, month, day)
	if day > 28 && days >= daysOf(year, month+1, 1) {
		return 0, false
	}
	millis := days * dayMillis
	if n == 10 {
		return millis, true
	}
	if n > 19 && text[n-1] == 'Z' {
		n--
	}
	if n != 19 && n != 23 || text[10] != 'T' || text[13] != ':' || text[16] != ':' {
		return 0, false
	}
	hour, ok1 := digits(text[11:13])
	minute, ok2 := digits(text[14:16])
	second, ok3 := digits(text[17:19])
	if !ok1 || !ok2 || !ok3 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	millis += ((hour*60+minute)*60 + second) * secondMillis
	if n == 23 {
		fraction, ok := digits(text[20:23])
		if !ok || text[19] != '.' {
			return 0, false
		}
		millis += fraction
	}
	return millis, true
}

// digits parses a text of decimal digits. It returns false if the text contains anything else.
func digits(text string) (int64, bool) {
	n := int64(0)
	for i := range len(text) {
		c := text[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	return n, true
}
