package plan

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/plan/cache"
)

// outcome is what the cache remembers of a trial.
func (p *Planner) outcome(c *choice) cache.Outcome {
	t := c.winner()
	keys, docs := exec.Examined(t.root)
	return cache.Outcome{
		Signature: string(t.sol.signature), Works: t.env.Works(), Reads: keys + docs,
		QueryHash: cache.Hash(c.shape), At: p.opts.Clock.Now(), Describe: func() *cache.Debug { return describeTrial(c) },
	}
}

// CacheStats describes the plan cache for serverStatus.
func (p *Planner) CacheStats() cache.Stats { return p.cache.Stats() }
