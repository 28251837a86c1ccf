package dispatch

import (
	"context"

	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// applyDefaults sets the default read and write concern on a command that has none. In a
// transaction only the first command gets a read concern, and only the last command gets a write
// concern.
func applyDefaults(s *command.Service, d *command.Definition, g *command.Generic) {
	defaults := s.RWDefaults.Load()
	inTransaction := g.InTransaction()
	if defaults.Level != "" && d.Read && g.ReadConcern.IsEmpty() && (!inTransaction || g.StartTxn == command.BoolTrue) {
		g.ReadConcern.Level, g.ReadConcern.Default = defaults.Level, true
	}
	if d.Writes == feature.Yes && (!inTransaction || d.InTransaction.Ends) {
		applyDefaultConcern(s, defaults, &g.WriteConcern)
	}
}

// applyDefaultConcern sets the default write concern, or only its w if the client gave a concern
// without w.
func applyDefaultConcern(s *command.Service, defaults *command.RWDefaults, wc *command.WriteConcern) {
	if wc.Given && !wc.NoW {
		return
	}
	preset := defaults.WriteConcern
	if defaults.Write == nil {
		preset, _ = s.ImpliedConcern()
	}
	if !wc.Given {
		*wc = preset
		return
	}
	wc.W, wc.Mode, wc.Tags, wc.Majority, wc.NoW = preset.W, preset.Mode, preset.Tags, preset.Majority, false
}

// learnTime advances the cluster time to the $clusterTime of a request. It returns an error if that
// time is too far in the future.
func learnTime(s *command.Service, req *command.Request) error {
	t := req.Generic.ClusterTime
	if !s.Replicates() || t <= s.Order.Visible() {
		return nil
	}
	now := req.Now.Unix()
	if int64(t.Seconds())-now > s.MaxClockDrift.Load() {
		return mongoerr.New(mongoerr.ClusterTimeFailsRateLimiter, "New cluster time, %d, is too far from this node's wall clock time, %d.",
			t.Seconds(), now)
	}
	s.Order.Advance(t)
	return nil
}

// awaitClusterTime waits until all commits up to the stamp t can be read, or until ctx ends.
func awaitClusterTime(ctx context.Context, s *command.Service, t storage.Stamp) error {
	if t <= s.Order.Visible() {
		return nil
	}
	s.Order.Advance(t)
	for {
		arrival := s.Order.Arrival()
		if t <= s.Order.Visible() {
			return nil
		}
		select {
		case <-arrival:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// countError counts an error of a command as an internal error or as a user error. It also counts
// write conflicts separately.
func countError(s *command.Service, err error) {
	if mongoerr.CodeOf(err) == mongoerr.InternalError {
		s.Stats.InternalErrors.Add(1)
		return
	}
	s.Stats.UserErrors.Add(1)
	if mongoerr.CodeOf(err) == mongoerr.WriteConflict {
		s.Stats.Conflicts.Add(1)
	}
}

// codeAPIRequired is MongoDB's error code for a missing apiVersion on a server that requires it.
const codeAPIRequired = mongoerr.Code(498870)

// checkRequiredAPI returns an error if the server requires an API version and the command does not
// have one.
func checkRequiredAPI(s *command.Service, g *command.Generic) error {
	if g.APIVersion == "" && s.Switches.RequireAPI.Load() {
		return mongoerr.New(codeAPIRequired,
			"The apiVersion parameter is required, please configure your MongoClient's API version")
	}
	return nil
}
