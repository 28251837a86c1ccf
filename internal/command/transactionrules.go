package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// The rules for commands and stages in a transaction.

// TransactionRules are rules for a command in a transaction. The zero value is right for most
// commands. Whether the command may run in a transaction at all is one of its Properties.
type TransactionRules struct {
	// Ends says that the command commits or aborts the transaction. Only such a command has a write
	// concern in a transaction, and a client may send it again.
	Ends bool
	// Recommits says that the command succeeds if the transaction is already committed.
	Recommits bool
	// Refused is the message with which a transaction refuses the command. Empty means the usual
	// message.
	Refused string
	// NotFirst is the message with which the command is refused as the first one of a transaction.
	// Empty means that a transaction may begin with it.
	NotFirst string
}

// NotInTransaction returns an error for an operation that transactions do not support.
func NotInTransaction(format string, args ...any) error {
	return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, format, args...)
}

// CheckTransactionDatabase returns an error if transactions may not use the database db.
func CheckTransactionDatabase(db string) error {
	switch db {
	case "config":
		return NotInTransaction("Cannot run command against the config database in a transaction.")
	case "admin", "local":
		return NotInTransaction("Cannot run command against the '%s' database in a transaction.", db)
	}
	return nil
}

// CheckTransactionStages returns an error if a pipeline or one of its sub-pipelines has a stage
// that transactions do not support.
func CheckTransactionStages(stages bsonx.Value) error {
	return pipeline.EachStage(stages, func(stage *parsing.Definition, _ bsonx.Value) error {
		if stage.Transactions == feature.Yes {
			return nil
		}
		return NotInTransaction("Stage not supported inside of a multi-document transaction: %s", stage.Name)
	})
}
