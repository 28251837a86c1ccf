package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// What may run in a transaction, and which labels errors get.

// NotInTransaction is the error of what cannot be done in a transaction.
func NotInTransaction(format string, args ...any) error {
	return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, format, args...)
}

// CheckTransactionDatabase refuses the databases that a transaction may not use.
func CheckTransactionDatabase(db string) error {
	switch db {
	case "config":
		return NotInTransaction("Cannot run command against the config database in a transaction.")
	case "admin", "local":
		return NotInTransaction("Cannot run command against the '%s' database in a transaction.", db)
	}
	return nil
}

// CheckTransactionStages refuses stages, also in sub-pipelines, that transactions do not have.
func CheckTransactionStages(stages bsonx.Value) error {
	return pipeline.EachStage(stages, func(stage *parsing.Definition, _ bsonx.Value) error {
		if stage.Transactions == feature.Yes {
			return nil
		}
		return NotInTransaction("Stage not supported inside of a multi-document transaction: %s", stage.Name)
	})
}
