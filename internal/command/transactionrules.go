package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
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

// stagesNotInTransaction are those that transactions do not have.
var stagesNotInTransaction = map[string]bool{
	"$changeStream": true, "$collStats": true, "$currentOp": true, "$indexStats": true, "$listLocalSessions": true,
	"$listSampledQueries": true, "$listSearchIndexes": true, "$listSessions": true, "$merge": true, "$out": true,
	"$planCacheStats": true, "$querySettings": true, "$queryStats": true, "$shardedDataDistribution": true,
}

// CheckTransactionStages refuses stages, also in sub-pipelines, that transactions do not have.
func CheckTransactionStages(stages bsonx.Value) error {
	return eachStage(stages, func(stage bsonx.Elem) error {
		if stagesNotInTransaction[string(stage.Key)] {
			return NotInTransaction("Stage not supported inside of a multi-document transaction: %s", stage.Key)
		}
		return nil
	})
}
