package date

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// relativeText contains the relative parts of a text, such as "3 days ago".
type relativeText struct {
	months, days, seconds int64
	// weekday is 1 for Monday to 7 for Sunday, or 0 for no weekday. It means the first such day on
	// or after the date.
	weekday           int64
	firstDay, lastDay bool // the first or last day of the month
}

// maxDateText is the length limit for a date without a format. The scanner tries each token at each
// position against the rest of the text, so a longer text would take minutes.
const maxDateText = 4 << 10

// tokenWork is the work of trying all tokens at one position, in the units of interrupt.Meter.
const tokenWork = 1 << 14

// scan parses a date without a format. At each position it takes the longest matching token, and
// among equally long tokens the first in the table.
func (d *dateText) scan() {
	if d.whole == "" {
		d.fail(0, "Empty string")
		return
	}
	if len(d.text) > maxDateText {
		d.fail(0, "Unexpected character")
		return
	}
	for at := 0; at < len(d.text) && !d.task.Stopped(tokenWork); {
		rest := d.text[at:]
		if strings.IndexByte(" .,\t\n", rest[0]) >= 0 {
			at++
			continue
		}
		token, match := longestToken(rest)
		if token == nil {
			d.fail(at, "Unexpected character")
			at++
			continue
		}
		token.apply(d, at, match)
		at += len(match[0])
	}
}

// dateToken is one syntax of a date, a time or a part of them. apply stores the matched groups m.
type dateToken struct {
	pattern *regexp.Regexp
	apply   func(d *dateText, at int, m []string)
}

func longestToken(text string) (*dateToken, []string) {
	var best *dateToken
	length := 0
	for i := range dateTokens() {
		token := &dateTokens()[i]
		if loc := token.pattern.FindStringIndex(text); loc != nil && loc[1] > length {
			best, length = token, loc[1]
		}
	}
	if best == nil {
		return nil, nil
	}
	return best, best.pattern.FindStringSubmatch(text)
}

// Regular expressions for the components of tokens.
const (
	sp        = `[ \t]`
	hour24    = `(2[0-4]|[01]?[0-9])`
	hour24lz  = `(2[0-4]|[01][0-9])`
	hour12    = `(1[0-2]|0?[1-9])`
	minute    = `([0-5]?[0-9])`
	minutelz  = `([0-5][0-9])`
	second    = `(60|[0-5]?[0-9])`
	secondlz  = `(60|[0-5][0-9])`
	frac      = `(\.[0-9]+)`
	meridian  = `([ap]\.?m\.?)(?:[\t ]|$)`
	zoneText  = `\(?[a-z]{1,6}\)?|[a-z]+(?:[_/-][a-z]+)+`
	shiftText = `(?:gmt)?[+-](?:(?:2[0-4]|[01]?[0-9])(?::?[0-5]?[0-9])?|(?:2[0-4]|[01][0-9])[0-5][0-9][0-5][0-9]|(?:2[0-4]|[01][0-9]):[0-5][0-9]:[0-5][0-9])`
	monthNum  = `(1[0-2]|0?[0-9])`
	monthlz   = `(0[0-9]|1[0-2])`
	dayNum    = `([0-2]?[0-9]|3[01])(?:st|nd|rd|th)?`
	daylz     = `(0[0-9]|[1-2][0-9]|3[01])`
	year1     = `([0-9]{1,4})`
	year2     = `([0-9]{2})`
	year4     = `([0-9]{4})`
	monthAbbr = `jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec`
	monthText = `(january|february|march|april|june|july|august|september|october|november|december|` + monthAbbr +
		`|viii|vii|vi|v|xii|xi|x|ix|iv|iii|ii|i)`
	weekdayText = `(mon|monday|tue|tues|tuesday|wed|weds?|wednesday|thur?s?|thursday|fri|friday|sat|satur|saturday|sun|sunday)`
	unitText    = `(msec|millisecond|ms|sec|second|min|minute|hour|day|fortnight|forthnight|month|year|week)s?`
	gap         = `[ \t.-]*`
)

// dateTokens returns the table of tokens, which is compiled at the first use.
var dateTokens = sync.OnceValue(func() []dateToken {
	var tokens []dateToken
	for _, rules := range [][]tokenRule{wordRules(), timeRules(), dateRules(), combinedRules(), otherRules()} {
		for _, rule := range rules {
			pattern := regexp.MustCompile(`(?i)^(?:` + rule.pattern + `)`)
			pattern.Longest()
			tokens = append(tokens, dateToken{pattern, rule.apply})
		}
	}
	return tokens
})

type tokenRule struct {
	pattern string
	apply   func(d *dateText, at int, m []string)
}

func wordRules() []tokenRule {
	return []tokenRule{
		{`yesterday`, func(d *dateText, _ int, _ []string) { d.clearTime(); d.relative.days-- }},
		{`now`, func(*dateText, int, []string) {}},
		{`noon`, func(d *dateText, at int, _ []string) { d.clearTime(); d.setTime(at, 12, 0, 0) }},
		{`midnight|today`, func(d *dateText, _ int, _ []string) { d.clearTime() }},
		{`tomorrow`, func(d *dateText, _ int, _ []string) { d.clearTime(); d.relative.days++ }},
		{`@(-?[0-9]{1,15})(?:\.([0-9]{0,6}))?`, func(d *dateText, at int, m []string) {
			d.setDate(at, 1970, 1, 1)
			d.setTime(at, 0, 0, 0)
			d.relative.seconds += number(m[1])
			d.micros = fraction("." + m[2])
			d.zones++
			d.zone, d.offset = offsetZoneText, 0
		}},
		{`first day of`, func(d *dateText, _ int, _ []string) { d.relative.firstDay = true }},
		{`last day of`, func(d *dateText, _ int, _ []string) { d.relative.lastDay = true }},
	}
}

func timeRules() []tokenRule {
	return []tokenRule{
		{
			hour12 + `(?:[:.]` + minutelz + `(?:[:.]` + secondlz + `)?)?` + sp + `?` + meridian,
			func(d *dateText, at int, m []string) {
				d.setTime(at, hourOf(m[1], m[4]), number(m[2]), number(m[3]))
			},
		},
		{hour12 + `:` + minutelz + `:` + secondlz + `[:.]([0-9]+)` + meridian, func(d *dateText, at int, m []string) {
			d.setTime(at, hourOf(m[1], m[5]), number(m[2]), number(m[3]))
			d.micros = fraction("." + m[4])
		}},
		{`t` + hour24, func(d *dateText, at int, m []string) { d.setTime(at, number(m[1]), 0, 0) }},
		{`t?` + hour24 + `[:.]` + minute + `(?:[:.]` + second + frac + `?)?`, func(d *dateText, at int, m []string) {
			d.setTime(at, number(m[1]), number(m[2]), number(m[3]))
			d.micros = fraction(m[4])
		}},
		{
			`t?` + hour24 + `[:.]` + minute + `[:.]` + secondlz + sp + `?(` + shiftText + `|` + zoneText + `)`,
			func(d *dateText, at int, m []string) {
				d.setTime(at, number(m[1]), number(m[2]), number(m[3]))
				d.setZone(at + len(m[0]) - len(m[4]))
			},
		},
		{`t?` + hour24lz + minutelz, func(d *dateText, at int, m []string) {
			if d.haveTime {
				d.year = some(number(m[1] + m[2]))
				return
			}
			d.setTime(at, number(m[1]), number(m[2]), 0)
		}},
		{`t?` + hour24lz + minutelz + secondlz, func(d *dateText, at int, m []string) {
			d.setTime(at, number(m[1]), number(m[2]), number(m[3]))
		}},
	}
}

func dateRules() []tokenRule {
	ymd := func(d *dateText, at int, m []string) { d.setDate(at, yearOf(m[1]), monthOf(m[2]), number(m[3])) }
	dmy := func(d *dateText, at int, m []string) { d.setDate(at, yearOf(m[3]), monthOf(m[2]), number(m[1])) }
	mdy := func(d *dateText, at int, m []string) { d.setDate(at, yearOf(m[3]), monthOf(m[1]), number(m[2])) }
	return []tokenRule{
		{
			monthNum + `/` + dayNum,
			func(d *dateText, at int, m []string) { d.setMonthDay(at, monthOf(m[1]), number(m[2])) },
		},
		{monthNum + `/` + dayNum + `/` + year1, mdy},
		{`([+-]?[0-9]{4})-` + monthlz + `-` + daylz, ymd},
		{year4 + `/` + monthNum + `/` + dayNum + `/?`, ymd},
		{year2 + `-` + monthlz + `-` + daylz, ymd},
		{`([+-][0-9]{5,9})-` + monthlz + `-` + daylz, ymd},
		{
			year4 + `-` + monthNum,
			func(d *dateText, at int, m []string) { d.setDate(at, yearOf(m[1]), monthOf(m[2]), 1) },
		},
		{year1 + `-` + monthNum + `-` + dayNum, ymd},
		{dayNum + gap + monthText + gap + year1, dmy},
		{dayNum + `[.\t-]` + monthNum + `[.-]` + year4, dmy},
		{dayNum + `[.\t]` + monthNum + `\.` + year2, dmy},
		{
			monthText + gap + year4,
			func(d *dateText, at int, m []string) { d.setDate(at, yearOf(m[2]), monthOf(m[1]), 1) },
		},
		{
			year4 + gap + monthText,
			func(d *dateText, at int, m []string) { d.setDate(at, yearOf(m[1]), monthOf(m[2]), 1) },
		},
		{monthText + gap + dayNum + `[,.stndrh\t ]+` + year1, mdy},
		{
			monthText + gap + dayNum + `(?:[,.stndrh\t ]+|$)`,
			func(d *dateText, at int, m []string) { d.setMonthDay(at, monthOf(m[1]), number(m[2])) },
		},
		{
			dayNum + gap + monthText,
			func(d *dateText, at int, m []string) { d.setMonthDay(at, monthOf(m[2]), number(m[1])) },
		},
		{year4 + monthlz + daylz, ymd},
		{`(` + monthAbbr + `)-` + daylz + `-` + year1, mdy},
		{year1 + `-(` + monthAbbr + `)-` + daylz, ymd},
	}
}

func combinedRules() []tokenRule {
	full := func(d *dateText, at int, m []string) {
		d.setDate(at, yearOf(m[1]), number(m[2]), number(m[3]))
		d.setTime(at, number(m[4]), number(m[5]), number(m[6]))
	}
	return []tokenRule{
		{year4 + monthlz + daylz + `t` + hour24 + `:?` + minutelz + `:?` + secondlz, full},
		{year4 + `-` + monthNum + `-` + dayNum + `t` + hour24 + `:` + minute + `:` + second, full},
		{year4 + `:` + monthlz + `:` + daylz + ` ` + hour24lz + `:` + minutelz + `:` + secondlz, full},
		{
			year4 + `-` + monthlz + `-` + daylz + `t` + hour24lz + `:` + minutelz + `:` + secondlz +
				frac + `(` + shiftText + `)?`,
			func(d *dateText, at int, m []string) {
				full(d, at, m)
				d.micros = fraction(m[7])
				if m[8] != "" {
					d.setZone(at + len(m[0]) - len(m[8]))
				}
			},
		},
		{year4 + `[.-]?(00[1-9]|0[1-9][0-9]|[12][0-9][0-9]|3[0-5][0-9]|36[0-6])`, func(d *dateText, at int, m []string) { d.setDate(at, yearOf(m[1]), 1, number(m[2])) }},
		{year4 + `-?w(0[1-9]|[1-4][0-9]|5[0-3])(?:-?([0-7]))?`, func(d *dateText, at int, m []string) {
			day := int64(1)
			if m[3] != "" {
				day = number(m[3])
			}
			d.setDate(at, yearOf(m[1]), 1, 1)
			d.relative.days += daysOfISOWeek(d.year.n, number(m[2]), day) - daysOf(d.year.n, 1, 1)
		}},
		{
			dayNum + `/(` + monthAbbr + `)/` + year4 + `:` + hour24lz + `:` + minutelz + `:` +
				secondlz + sp + `(` + shiftText + `)`,
			func(d *dateText, at int, m []string) {
				d.setDate(at, yearOf(m[3]), monthOf(m[2]), number(m[1]))
				d.setTime(at, number(m[4]), number(m[5]), number(m[6]))
				d.setZone(at + len(m[0]) - len(m[7]))
			},
		},
		{
			monthText + gap + dayNum + `[,.stndrh\t ]+` + hour24 + `[:.]` + minute + `(?:[:.]` + second + `)?`,
			func(d *dateText, at int, m []string) {
				d.setMonthDay(at, monthOf(m[1]), number(m[2]))
				d.setTime(at, number(m[3]), number(m[4]), number(m[5]))
			},
		},
	}
}

func otherRules() []tokenRule {
	return []tokenRule{
		{year4, func(d *dateText, _ int, m []string) { d.year = some(number(m[1])) }},
		{`ago`, func(d *dateText, _ int, _ []string) {
			r := &d.relative
			r.months, r.days, r.seconds = -r.months, -r.days, -r.seconds
		}},
		{weekdayText, func(d *dateText, _ int, m []string) { d.clearTime(); d.relative.weekday = weekdayOf(m[1]) }},
		{`(next|last|previous|this)` + sp + `+` + unitText, func(d *dateText, _ int, m []string) {
			d.addUnits(map[string]int64{"next": 1, "last": -1, "previous": -1}[strings.ToLower(m[1])], m[2])
		}},
		{monthText, func(d *dateText, at int, m []string) {
			if d.startDate(at) {
				d.month = some(monthOf(m[1]))
			}
		}},
		{shiftText + `|` + zoneText, func(d *dateText, at int, _ []string) { d.setZone(at) }},
		{`([+-]*)` + sp + `*([0-9]{1,9})` + sp + `*` + unitText, func(d *dateText, _ int, m []string) {
			n := number(m[2])
			if strings.Count(m[1], "-")%2 == 1 {
				n = -n
			}
			d.addUnits(n, m[3])
		}},
	}
}

// addUnits adds n units to the relative part, or subtracts them if n is negative.
func (d *dateText) addUnits(n int64, unit string) {
	r := &d.relative
	switch strings.ToLower(unit) {
	case "sec", "second":
		r.seconds += n
	case "min", "minute":
		r.seconds += n * 60
	case "hour":
		r.seconds += n * 3600
	case "day":
		r.days += n
	case "week":
		r.days += n * 7
	case "fortnight", "forthnight":
		r.days += n * 14
	case "month":
		r.months += n
	case "year":
		r.months += n * 12
	default:
		d.micros += n * 1000
	}
}

func (d *dateText) setDate(at int, year, month, day int64) {
	d.setMonthDay(at, month, day)
	d.year = some(year)
}

func (d *dateText) setMonthDay(at int, month, day int64) {
	if d.startDate(at) {
		d.month, d.day = some(month), some(day)
	}
}

// startDate records that the text contains a date. It returns false, with an error, if the text
// contains another one before.
func (d *dateText) startDate(at int) bool {
	if d.haveDate {
		d.fail(at, "Double date specification")
		return false
	}
	d.haveDate = true
	return true
}

func (d *dateText) setTime(at int, hour, minute, second int64) {
	if d.haveTime {
		d.fail(at, "Double time specification")
		return
	}
	d.haveTime, d.hour, d.minute, d.second, d.micros = true, some(hour), some(minute), some(second), 0
}

func (d *dateText) clearTime() {
	d.haveTime, d.micros = false, 0
	d.hour, d.minute, d.second = some(0), some(0), some(0)
}

func (d *dateText) setZone(at int) {
	if d.zones++; d.zones > 1 {
		if d.zones == 2 {
			d.warn(at, "Double timezone specification")
		} else {
			d.fail(at, "Double timezone specification")
		}
		return
	}
	d.readZone(at)
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// fraction parses a fraction of a second such as .5, and returns microseconds.
func fraction(text string) int64 {
	if len(text) < 2 {
		return 0
	}
	return number((text[1:] + "000000")[:6])
}

// yearOf parses a year. A year with fewer than four digits and below 100 is between 1970 and 2069.
func yearOf(text string) int64 {
	n := number(text)
	if len(text) < 4 && n < 70 {
		return n + 2000
	}
	if len(text) < 4 && n < 100 {
		return n + 1900
	}
	return n
}

func monthOf(text string) int64 {
	if month, ok := monthByName[strings.ToLower(text)]; ok {
		return month
	}
	return number(text)
}

func hourOf(hour, meridian string) int64 {
	n := number(hour) % 12
	if meridian[0]|0x20 == 'p' {
		n += 12
	}
	return n
}

func weekdayOf(text string) int64 {
	return int64(strings.Index("montuewedthufrisatsun", strings.ToLower(text[:3]))/3 + 1)
}
