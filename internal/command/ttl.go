package command

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/param"
	"github.com/sheafdb/sheaf/internal/ttl"
)

// ttlParams are the parameters of the monitor that removes expired documents.
func (s *Service) ttlParams() []param.Param {
	return []param.Param{
		param.Bool("ttlMonitorEnabled", true, s.ttl.SetEnabled),
		param.Int("ttlMonitorSleepSecs", int64(ttl.DefaultSleep.Seconds()), 1, math.MaxInt32, s.ttl.SetSleep),
	}
}

// StatusTTL appends metrics.ttl.
func (s *Service) StatusTTL(b *bsonx.Builder) {
	var st ttl.Stats
	if s.ttl != nil {
		st = s.ttl.Stats()
	}
	b.StartDocField("ttl")
	b.Int64("deletedDocuments", st.Deleted)
	b.Int64("invalidTTLIndexSkips", st.Invalid)
	b.Int64("passes", st.Passes)
	b.Int64("subPasses", st.SubPasses)
	b.End()
}
