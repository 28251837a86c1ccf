package command

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// defaultLockMillis is MongoDB's maxTransactionLockRequestTimeoutMillis.
const defaultLockMillis = 5

// switches are parameters that commands look at.
type switches struct {
	quiet, requireAPI atomic.Bool
	lockMillis        atomic.Int64
}

// Quiet reports whether connections are not logged: the parameter quiet.
func (s *Service) Quiet() bool { return s.switches.quiet.Load() }

func (s *Service) switchParams() []Param {
	return []Param{
		BoolParam("quiet", false, s.switches.quiet.Store),
		BoolParam("requireApiVersion", false, s.switches.requireAPI.Store),
		BoolParam("notablescan", false, func(on bool) {
			if s.Planner != nil {
				s.Planner.RefuseTableScans(on)
			}
		}),
		IntParam("maxTransactionLockRequestTimeoutMillis", defaultLockMillis, -1<<31, 1<<31-1, s.switches.lockMillis.Store),
	}
}

// codeAPIRequired is MongoDB's answer to a command without an API version where one is required.
const codeAPIRequired = mongoerr.Code(498870)

func (s *Service) checkRequiredAPI(g *Generic) error {
	if g.APIVersion == "" && s.switches.requireAPI.Load() {
		return mongoerr.New(codeAPIRequired,
			"The apiVersion parameter is required, please configure your MongoClient's API version")
	}
	return nil
}

// enterWrites waits until the request may write. In a transaction, which would hold its locks
// meanwhile, it waits no longer than maxTransactionLockRequestTimeoutMillis; a negative one is no
// limit.
func (s *Service) enterWrites(req *Request) error {
	limit := s.switches.lockMillis.Load()
	if !req.Generic.inTransaction() || limit < 0 || !s.Gate.Locked() {
		return s.Gate.enter(req.Op, req.Op.SetWaiting)
	}
	ctx, cancel := context.WithTimeout(req.Op, time.Duration(limit)*time.Millisecond)
	defer cancel()
	err := s.Gate.enter(ctx, req.Op.SetWaiting)
	if errors.Is(err, context.DeadlineExceeded) && req.Op.Err() == nil {
		return mongoerr.New(mongoerr.LockTimeout, "Unable to acquire IX lock on '{%s: Global}' within %dms.", req.DB, limit)
	}
	return err
}

const (
	// QueryFrameworkParam is the parameter that chooses one of MongoDB's query engines. Sheaf has
	// one engine, which runs every plan.
	QueryFrameworkParam = "internalQueryFrameworkControl"
	// CollationRegexParam is the parameter by which a regular expression uses no index with a
	// collation.
	CollationRegexParam = "internalQueryPlannerIgnoreIndexWithCollationForRegex"
)
