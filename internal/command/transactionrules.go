package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// The rules for commands and stages in a transaction.

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
