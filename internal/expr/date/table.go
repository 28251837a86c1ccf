package date

import (
	"github.com/sheafdb/sheaf/internal/expr"
)

const dateFamily = "date"

// Operators returns the definitions of the package.
func Operators() []expr.Definition {
	return []expr.Definition{
		datePart("$year", func(w wall) int64 { year, _, _ := dateOfDays(w.days); return year }, false),
		datePart("$month", func(w wall) int64 { _, month, _ := dateOfDays(w.days); return month }, false),
		datePart("$dayOfMonth", func(w wall) int64 { _, _, day := dateOfDays(w.days); return day }, false),
		datePart("$hour", func(w wall) int64 { return w.millis / hourMillis }, false),
		datePart("$minute", func(w wall) int64 { return w.millis / minuteMillis % 60 }, false),
		datePart("$second", func(w wall) int64 { return w.millis / secondMillis % 60 }, false),
		datePart("$millisecond", func(w wall) int64 { return w.millis % secondMillis }, false),
		datePart("$dayOfWeek", func(w wall) int64 { return weekday(w.days)%7 + 1 }, false),
		datePart("$dayOfYear", func(w wall) int64 { return dayOfYear(w.days) }, false),
		datePart("$week", func(w wall) int64 { return sundayWeek(w.days) }, false),
		datePart("$isoDayOfWeek", func(w wall) int64 { return weekday(w.days) }, false),
		datePart("$isoWeek", func(w wall) int64 { _, week := isoWeek(w.days); return week }, false),
		datePart("$isoWeekYear", func(w wall) int64 { year, _ := isoWeek(w.days); return year }, true),
		timestampPart("$tsSecond", 5687301, func(t, _ uint32) uint32 { return t }),
		timestampPart("$tsIncrement", 5687302, func(_, i uint32) uint32 { return i }),
		{Name: "$dateFromParts", Family: dateFamily, Min: 1, Max: 1, Parse: parseDateFromParts},
		{Name: "$dateToParts", Family: dateFamily, Min: 1, Max: 1, Parse: parseDateToParts},
		{Name: "$dateToString", Family: dateFamily, Min: 1, Max: 1, Parse: parseDateToString},
		{Name: "$dateFromString", Family: dateFamily, Min: 1, Max: 1, Parse: parseDateFromString},
		{Name: dateDiffName, Family: dateFamily, Min: 1, Max: 1, Parse: parseDateDiff},
		{Name: "$dateTrunc", Family: dateFamily, Min: 1, Max: 1, Parse: parseDateTrunc},
		dateArithmetic("$dateAdd", 1), dateArithmetic("$dateSubtract", -1),
	}
}
