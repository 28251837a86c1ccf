package command

import (
	"sync/atomic"
)

// defaultLockMillis is the default of maxTransactionLockRequestTimeoutMillis, in milliseconds, as
// in MongoDB.
const defaultLockMillis = 5

// switches are the parameters that commands read on each run.
type switches struct {
	quiet, RequireAPI atomic.Bool
	LockMillis        atomic.Int64
}

const (
	// QueryFrameworkParam is the name of the parameter that selects MongoDB's query engine. It has
	// no effect, because Sheaf has one engine.
	QueryFrameworkParam = "internalQueryFrameworkControl"
	// CollationRegexParam is the name of the parameter that keeps regular expressions from using an
	// index with a collation.
	CollationRegexParam = "internalQueryPlannerIgnoreIndexWithCollationForRegex"
)
