// Package scenarios has the scenarios that come with the simulator: those of the books, and one or
// more for each package of patterns. They are written on these packages, so that what is measured
// is what people import.
//
// A file has the scenarios of one pattern, and a function that returns them for All. What several
// of them need is in shared.go.
package scenarios

import (
	"slices"

	"github.com/sheafdb/sheaf/sim/scenario"
)

// All returns the definitions of all scenarios.
func All() []*scenario.Definition {
	return slices.Concat(
		appScenarios(),
		categoryScenarios(),
		eventlogScenarios(),
		hitsScenarios(),
		i18nScenarios(),
		insertScenarios(),
		lockScenarios(),
		metadataScenarios(),
		queueScenarios(),
		rollupScenarios(),
		slicecacheScenarios(),
		timeseriesScenarios(),
		topicScenarios(),
	)
}
