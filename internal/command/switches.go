package command

import (
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// defaultLockMillis is MongoDB's maxTransactionLockRequestTimeoutMillis.
const defaultLockMillis = 5

// switches are parameters that commands look at.
type switches struct {
	quiet, requireAPI atomic.Bool
	LockMillis        atomic.Int64
}

// Quiet reports whether connections are not logged: the parameter quiet.
func (s *Service) Quiet() bool { return s.Switches.quiet.Load() }

// codeAPIRequired is MongoDB's answer to a command without an API version where one is required.
const codeAPIRequired = mongoerr.Code(498870)

func (s *Service) CheckRequiredAPI(g *Generic) error {
	if g.APIVersion == "" && s.Switches.requireAPI.Load() {
		return mongoerr.New(codeAPIRequired,
			"The apiVersion parameter is required, please configure your MongoClient's API version")
	}
	return nil
}

const (
	// QueryFrameworkParam is the parameter that chooses one of MongoDB's query engines. Sheaf has
	// one engine, which runs every plan.
	QueryFrameworkParam = "internalQueryFrameworkControl"
	// CollationRegexParam is the parameter by which a regular expression uses no index with a
	// collation.
	CollationRegexParam = "internalQueryPlannerIgnoreIndexWithCollationForRegex"
)
