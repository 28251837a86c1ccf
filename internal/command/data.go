package command

import (
	"errors"
	"slices"

	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/write"
)

// Data is what the commands on documents, collections and indexes work with.
type Data struct {
	Store   *table.Store
	Planner *plan.Planner
	Writes  *write.Executor
}

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

// prefixError puts context before the message of a user error.
func prefixError(err error, format string, args ...any) error {
	var e *mongoerr.Error
	if errors.As(err, &e) {
		return e.Prefix(format, args...)
	}
	return err
}
