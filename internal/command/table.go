package command

import "slices"

// Definitions is the table of all commands: the concatenation of the families, each of which stands in its own file.
func Definitions() []Definition {
	return slices.Concat(
		helloCommands(),
		diagnosticCommands(),
		serverStatusCommands(),
		topCommands(),
		lockInfoCommands(),
		diagnosticDataCommands(),
		metadataCommands(),
		parameterCommands(),
		sessionCommands(),
		transactionCommands(),
		cursorCommands(),
		operationCommands(),
		adminCommands(),
		fsyncCommands(),
		rwDefaultsCommands(),
		clusterParameterCommands(),
		failPointCommands(),
		authCommands(),
		replicationCommands(),
		searchIndexCommands(),
		shardingCommands(),
		dataCommands(),
		knownCommands(),
	)
}

// NewServiceWithAll returns a service with all commands, and with the Definitions of deps.
func NewServiceWithAll(deps Deps) (*Service, error) {
	deps.Definitions = append(Definitions(), deps.Definitions...)
	deps.StageWriter = newStageWriter
	return NewService(deps)
}
