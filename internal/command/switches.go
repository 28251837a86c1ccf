package command

import (
	"sync/atomic"
)

// defaultLockMillis is MongoDB's maxTransactionLockRequestTimeoutMillis.
const defaultLockMillis = 5

// switches are parameters that commands look at.
type switches struct {
	quiet, RequireAPI atomic.Bool
	LockMillis        atomic.Int64
}

const (
	// QueryFrameworkParam is the parameter that chooses one of MongoDB's query engines. Sheaf has
	// one engine, which runs every plan.
	QueryFrameworkParam = "internalQueryFrameworkControl"
	// CollationRegexParam is the parameter by which a regular expression uses no index with a
	// collation.
	CollationRegexParam = "internalQueryPlannerIgnoreIndexWithCollationForRegex"
)
