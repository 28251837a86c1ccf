package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// ApplyDefaults gives a command that has no read or write concern the ones that were set. In a transaction the first command may have
// the one, the last one the other.
func (s *Service) ApplyDefaults(d *Definition, g *Generic) {
	defaults := s.RWDefaults.Load()
	inTransaction := g.InTransaction()
	if defaults.level != "" && d.Read && g.ReadConcern.isEmpty() && (!inTransaction || g.StartTxn == BoolTrue) {
		g.ReadConcern.Level, g.ReadConcern.Default = defaults.level, true
	}
	if d.Write && (!inTransaction || EndsTransaction(d)) {
		s.applyDefaultConcern(defaults, &g.WriteConcern)
	}
}

// applyDefaultConcern fills in a write concern, or its w.
func (s *Service) applyDefaultConcern(defaults *rwDefaults, wc *WriteConcern) {
	if wc.Given && !wc.noW {
		return
	}
	preset := defaults.writeConcern
	if defaults.write == nil {
		preset, _ = s.impliedConcern()
	}
	if !wc.Given {
		*wc = preset
		return
	}
	wc.W, wc.Mode, wc.Tags, wc.Majority, wc.noW = preset.W, preset.Mode, preset.Tags, preset.Majority, false
}

// LearnTime takes in the cluster time of a client.
func (s *Service) LearnTime(req *Request) error {
	t := req.Generic.ClusterTime
	if !s.Replicates() || t <= s.Order.Visible() {
		return nil
	}
	now := req.Now.Unix()
	if int64(t.Seconds())-now > s.maxClockDrift.Load() {
		return mongoerr.New(mongoerr.ClusterTimeFailsRateLimiter, "New cluster time, %d, is too far from this node's wall clock time, %d.",
			t.Seconds(), now)
	}
	s.Order.Advance(t)
	return nil
}

// AwaitTime waits until everything up to a stamp can be read.
func (s *Service) AwaitTime(ctx context.Context, t storage.Stamp) error {
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

func (s *Service) CountError(err error) {
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

func (s *Service) CheckRequiredAPI(g *Generic) error {
	if g.APIVersion == "" && s.Switches.requireAPI.Load() {
		return mongoerr.New(codeAPIRequired,
			"The apiVersion parameter is required, please configure your MongoClient's API version")
	}
	return nil
}
