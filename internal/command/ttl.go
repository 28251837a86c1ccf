package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/ttl"
)

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
