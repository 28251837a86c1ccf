package scenarios

import (
	"slices"

	"github.com/sheafdb/sheaf/sim/scenario"
)

// appScenarios returns the scenarios of applications, such as shops, accounts and theaters.
func appScenarios() []*scenario.Definition {
	return slices.Concat(
		adsScenarios(),
		cartScenarios(),
		catalogScenarios(),
		cmsScenarios(),
		commentsScenarios(),
		failoverScenarios(),
		gameScenarios(),
		identityScenarios(),
		ledgerScenarios(),
		pagingScenarios(),
		plainScenarios(),
		relationScenarios(),
		schemaScenarios(),
		seatingScenarios(),
		socialScenarios(),
	)
}
