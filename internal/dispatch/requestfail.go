package dispatch

import (
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/failpoint"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
)

// failCall makes a request available to fail points. It implements failpoint.Call.
type failCall struct{ *command.Request }

// Names implements failpoint.Call.
func (c failCall) Names() (command, sent string) { return c.Def.Name, c.Name }

// AppName implements failpoint.Call.
func (c failCall) AppName() string { return clientName(c.Request) }

// Namespace implements failpoint.Call.
func (c failCall) Namespace() string {
	var info session.OpInfo
	info.DB, info.Collection = c.Target()
	return info.Namespace()
}

// Clock implements failpoint.Call.
func (c failCall) Clock() clock.Clock { return c.Service.Clock }

// LimitBlock implements failpoint.Call. The command is not parsed yet, but its maxTimeMS already
// counts. The maxTimeMS of a getMore does not, because it says how long to wait for documents.
func (c failCall) LimitBlock(d time.Duration) {
	if ms, ok := c.Body.Lookup("maxTimeMS").AsInt64(); ok && ms > 0 && ms <= d.Milliseconds() && !c.Def.OwnMaxTime {
		c.Op.LimitTime(c.Service.Clock, time.Duration(ms)*time.Millisecond)
	}
}

// matchFailPoint applies the fail point failCommand to a request. Commands for tests are exempt.
func matchFailPoint(s *command.Service, req *command.Request) (failpoint.Failure, error) {
	if !s.FailPoints.Active() || req.Def.TestOnly {
		return failpoint.Failure{}, nil
	}
	return s.FailPoints.Match(failCall{req})
}

// failWrite applies the fail points for the statements of a retryable write.
func failWrite(r *command.Request) error {
	lost, code := r.Service.FailPoints.Write()
	r.Reply.Lost = r.Reply.Lost || lost
	if code == 0 {
		return nil
	}
	return mongoerr.New(code, "Failing write for %s:%d due to failpoint. The write must not be reflected.",
		r.Session.ID, r.Generic.TxnNumber)
}

// FailGetMore applies the fail points for a getMore that has found its cursor.
func FailGetMore(r *command.Request) error {
	lost, err := r.Service.FailPoints.GetMore()
	r.Reply.Lost = r.Reply.Lost || lost
	return err
}
