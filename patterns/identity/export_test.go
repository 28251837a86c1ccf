package identity

import (
	"context"

	"github.com/sheafdb/sheaf/patterns"
)

// Slow is a claim whose process continues step by step.
type Slow struct {
	s *Identities
	c *claim
}

// OpenClaim stores an open claim.
func (s *Identities) OpenClaim(ctx context.Context, user string, ids ...Identity) (*Slow, error) {
	docs, err := s.documents(user, ids)
	if err != nil {
		return nil, err
	}
	c, err := s.open(ctx, user, docs, false)
	return &Slow{s: s, c: c}, err
}

// Mark inserts the marked identities.
func (c *Slow) Mark(ctx context.Context) error { return c.s.mark(ctx, c.c, nil) }

// Commit makes the claim happen, and leaves the marks.
func (c *Slow) Commit(ctx context.Context) error { return c.s.commit(ctx, c.c) }

// Clock returns the clock of the Config.
func (s *Identities) Clock() patterns.Clock { return s.env.Clock }
