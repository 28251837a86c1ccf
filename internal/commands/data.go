package commands

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/admin"
	"github.com/sheafdb/sheaf/internal/command/crud"
	"github.com/sheafdb/sheaf/internal/command/ddl"
)

// dataCommands are the commands that need Data.
func dataCommands() []command.Definition {
	return slices.Concat(
		crud.FindCommands(), crud.GetMoreCommands(), crud.CountCommands(), crud.DistinctCommands(), crud.AggregateCommands(), crud.ExplainCommands(),
		crud.InsertCommands(), crud.UpdateCommands(), crud.DeleteCommands(), crud.FindAndModifyCommands(), crud.BulkWriteCommands(),
		ddl.CreateCommands(), ddl.CappedCommands(), ddl.DropCommands(), ddl.CollModCommands(), ddl.ListCollectionsCommands(),
		ddl.CreateIndexesCommands(), ddl.DropIndexesCommands(), ddl.ListIndexesCommands(),
		admin.CollStatsCommands(), admin.ValidateCommands(), admin.SplitVectorCommands(), admin.PlanCacheCommands(), crud.MapReduceCommands(),
	)
}
