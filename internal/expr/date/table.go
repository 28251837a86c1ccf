package date

import (
	"github.com/sheafdb/sheaf/internal/expr"
)

const family = "date"

// Operators returns the definitions of the package.
func Operators() []expr.Definition {
	return []expr.Definition{
		yearDefinition(), monthDefinition(), dayOfMonthDefinition(), hourDefinition(), minuteDefinition(),
		secondDefinition(), millisecondDefinition(), dayOfWeekDefinition(), dayOfYearDefinition(),
		weekDefinition(), isoDayOfWeekDefinition(), isoWeekDefinition(), isoWeekYearDefinition(),
		tsSecondDefinition(), tsIncrementDefinition(), dateFromPartsDefinition(), dateToPartsDefinition(),
		dateToStringDefinition(), dateFromStringDefinition(), dateDiffDefinition(), dateTruncDefinition(),
		dateAddDefinition(), dateSubtractDefinition(),
	}
}
