package dispatch

import (
	"context"

	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// applyDefaults gives a command that has no read or write concern the ones that were set. In a
// transaction the first command may have the one, the last one the other.
func applyDefaults(s *command.Service, d *command.Definition, g *command.Generic) {
	defaults := s.RWDefaults.Load()
	inTransaction := g.InTransaction()
	if defaults.Level != "" && d.Read && g.ReadConcern.IsEmpty() && (!inTransaction || g.StartTxn == command.BoolTrue) {
		g.ReadConcern.Level, g.ReadConcern.Default = defaults.Level, true
	}
	if d.Writes == feature.Yes && (!inTransaction || command.EndsTransaction(d)) {
		applyDefaultConcern(s, defaults, &g.WriteConcern)
	}
}

// applyDefaultConcern fills in a write concern, or its w.
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

// learnTime takes in the cluster time of a client.
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

// awaitClusterTime waits until everything up to a stamp can be read.
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

// countError counts an error of a command.
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

// codeAPIRequired is MongoDB's answer to a command without an API version where one is required.
const codeAPIRequired = mongoerr.Code(498870)

// checkRequiredAPI refuses a command without an API version if the server requires one.
func checkRequiredAPI(s *command.Service, g *command.Generic) error {
	if g.APIVersion == "" && s.Switches.RequireAPI.Load() {
		return mongoerr.New(codeAPIRequired,
			"The apiVersion parameter is required, please configure your MongoClient's API version")
	}
	return nil
}
