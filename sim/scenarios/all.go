// Package scenarios holds the scenarios that come with the simulator: the books' scenarios, and at
// least one for each package of patterns. The scenarios use the packages of patterns, so they
// measure the same code that applications import.
//
// Each file has the scenarios of one pattern, and a function that returns them for All. Shared code
// is in shared.go.
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
