package commands

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/admin"
	"github.com/sheafdb/sheaf/internal/command/crud"
	"github.com/sheafdb/sheaf/internal/command/ddl"
)

// Definitions returns the definitions of all commands.
func Definitions() []command.Definition {
	return slices.Concat(
		admin.HelloCommands(),
		admin.DiagnosticCommands(),
		admin.ServerStatusCommands(),
		admin.TopCommands(),
		admin.LockInfoCommands(),
		admin.DiagnosticDataCommands(),
		admin.MetadataCommands(),
		admin.ParameterCommands(),
		admin.SessionCommands(),
		admin.TransactionCommands(),
		crud.CursorCommands(),
		admin.OperationCommands(),
		admin.AdminCommands(),
		admin.FsyncCommands(),
		admin.RWDefaultsCommands(),
		admin.ClusterParameterCommands(),
		admin.FailPointCommands(),
		admin.AuthCommands(),
		admin.ReplicationCommands(),
		ddl.SearchIndexCommands(),
		admin.ShardingCommands(),
		crud.FindCommands(),
		crud.GetMoreCommands(),
		crud.CountCommands(),
		crud.DistinctCommands(),
		crud.AggregateCommands(),
		crud.ExplainCommands(),
		crud.InsertCommands(),
		crud.UpdateCommands(),
		crud.DeleteCommands(),
		crud.FindAndModifyCommands(),
		crud.BulkWriteCommands(),
		ddl.CreateCommands(),
		ddl.CappedCommands(),
		ddl.DropCommands(),
		ddl.CollModCommands(),
		ddl.ListCollectionsCommands(),
		ddl.CreateIndexesCommands(),
		ddl.DropIndexesCommands(),
		ddl.ListIndexesCommands(),
		admin.CollStatsCommands(),
		admin.ValidateCommands(),
		admin.SplitVectorCommands(),
		admin.PlanCacheCommands(),
		crud.MapReduceCommands(),
		admin.KnownCommands(),
	)
}

// NewService returns a service with all commands of Definitions, and with the commands in
// deps.Definitions.
func NewService(deps command.Deps) (*command.Service, error) {
	deps.Definitions = append(Definitions(), deps.Definitions...)
	deps.Diagnostics = admin.NewReports
	return command.NewService(deps)
}
