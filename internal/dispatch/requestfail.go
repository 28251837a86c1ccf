package dispatch

import (
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/failpoint"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// failCall is a request as fail points see it.
type failCall struct{ *command.Request }

// Names implements failpoint.Call.
func (c failCall) Names() (command, sent string) { return c.Def.Name, c.Name }

// AppName implements failpoint.Call.
func (c failCall) AppName() string { return clientName(c.Request) }

// Namespace implements failpoint.Call.
func (c failCall) Namespace() string {
	db, coll := c.Target()
	return db + "." + string(coll)
}

// Clock implements failpoint.Call.
func (c failCall) Clock() clock.Clock { return c.Service.Clock }

// LimitBlock implements failpoint.Call. The command is not parsed yet, but its time is running. The
// maxTimeMS of a getMore is no limit: it says how long to wait.
func (c failCall) LimitBlock(d time.Duration) {
	if ms, ok := c.Body.Lookup("maxTimeMS").AsInt64(); ok && ms > 0 && ms <= d.Milliseconds() && !c.Def.OwnMaxTime {
		c.Op.LimitTime(c.Service.Clock, time.Duration(ms)*time.Millisecond)
	}
}

// matchFailPoint applies failCommand to a request. The commands of tests never fail by it.
func matchFailPoint(s *command.Service, req *command.Request) (failpoint.Failure, error) {
	if !s.FailPoints.Active() || req.Def.TestOnly {
		return failpoint.Failure{}, nil
	}
	return s.FailPoints.Match(failCall{req})
}

// failWrite applies the fail point of a retryable write's statements.
func failWrite(r *command.Request) error {
	lost, code := r.Service.FailPoints.Write()
	r.Reply.Lost = r.Reply.Lost || lost
	if code == 0 {
		return nil
	}
	return mongoerr.New(code, "Failing write for %s:%d due to failpoint. The write must not be reflected.",
		r.Session.ID, r.Generic.TxnNumber)
}

// FailGetMore applies the fail point of getMores that have their cursor.
func FailGetMore(r *command.Request) error {
	lost, err := r.Service.FailPoints.GetMore()
	r.Reply.Lost = r.Reply.Lost || lost
	return err
}
