package command

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/table"
)

// DataDeps are what the commands on documents, collections and indexes work with.
type DataDeps struct {
	Store   *table.Store
	Planner *plan.Planner
}

// dataCommands is the table of the commands on documents, collections and indexes.
func dataCommands() []Definition {
	return slices.Concat(
		insertCommands(),
		updateCommands(),
		deleteCommands(),
		findCommands(),
		getMoreCommands(),
		findAndModifyCommands(),
		countCommands(),
		distinctCommands(),
		createCommands(),
		collModCommands(),
		dropCommands(),
		createIndexesCommands(),
		dropIndexesCommands(),
		listCollectionsCommands(),
		listIndexesCommands(),
		collStatsCommands(),
	)
}
