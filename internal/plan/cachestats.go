package plan

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/plan/cache"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/plan/trial"
)

// outcome returns the data of a trial that the plan cache stores.
func (p *Planner) outcome(c *trial.Choice) cache.Outcome {
	t := c.Winner()
	keys, docs := exec.Examined(t.Root)
	return cache.Outcome{
		Signature: string(t.Plan.Signature), Works: t.Env.Works(), Reads: keys + docs,
		QueryHash: cache.Hash(c.Shape), At: p.opts.Clock.Now(),
		Describe: func() *cache.Debug { return explain.Trial(c) },
	}
}

// CacheStats describes the plan cache for serverStatus.
func (p *Planner) CacheStats() cache.Stats { return p.cache.Stats() }
