package command

import (
	"slices"
)

// dataCommands are the commands that need Data.
func dataCommands() []Definition {
	return slices.Concat(
		findCommands(), getMoreCommands(), countCommands(), distinctCommands(), aggregateCommands(), explainCommands(),
		insertCommands(), updateCommands(), deleteCommands(), findAndModifyCommands(), bulkWriteCommands(),
		createCommands(), cappedCommands(), dropCommands(), collModCommands(), listCollectionsCommands(),
		createIndexesCommands(), dropIndexesCommands(), listIndexesCommands(),
		collStatsCommands(), validateCommands(), splitVectorCommands(), planCacheCommands(), mapReduceCommands(),
	)
}
