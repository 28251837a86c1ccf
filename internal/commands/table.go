package commands

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/admin"
	"github.com/sheafdb/sheaf/internal/command/crud"
	"github.com/sheafdb/sheaf/internal/command/ddl"
)

// Definitions is the table of all commands: the concatenation of the families, each of which stands in its own file.
func Definitions() []command.Definition {
	return slices.Concat(
		admin.HelloCommands(),
		admin.DiagnosticCommands(),
		admin.ServerStatusCommands(),
		admin.TopCommands(),
		admin.LockInfoCommands(),
		admin.DiagnosticDataCommands(),
		admin.MetadataCommands(),
		command.ParameterCommands(),
		admin.SessionCommands(),
		command.TransactionCommands(),
		crud.CursorCommands(),
		command.OperationCommands(),
		admin.AdminCommands(),
		admin.FsyncCommands(),
		command.RWDefaultsCommands(),
		command.ClusterParameterCommands(),
		command.FailPointCommands(),
		admin.AuthCommands(),
		command.ReplicationCommands(),
		ddl.SearchIndexCommands(),
		admin.ShardingCommands(),
		dataCommands(),
		admin.KnownCommands(),
	)
}

// NewService returns a service with all commands, and with the Definitions of deps.
func NewService(deps command.Deps) (*command.Service, error) {
	deps.Definitions = append(Definitions(), deps.Definitions...)
	deps.StageWriter = crud.NewStageWriter
	return command.NewService(deps)
}
