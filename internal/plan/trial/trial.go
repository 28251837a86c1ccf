package trial

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// The bounds of a trial, as MongoDB has them.
const (
	trialWorks   = 10000 // internalQueryPlanEvaluationWorks
	trialResults = 101   // internalQueryPlanEvaluationMaxResults
	// ReplanFactor is how many times the works of its trial a cached plan may take before others
	// are tried again (internalQueryCacheEvictionRatio).
	ReplanFactor = 10
	// trialBytes is how much a candidate's rows take at most, if they are several: they stay in
	// memory until they were given out.
	trialBytes = 4 << 20
)

// Candidate is a plan under trial.
type Candidate struct {
	builder node.Builder
	Plan    *node.Solution
	Env     *exec.Env
	Root    exec.Node
	Rows    []*exec.Row
	kept    keptRows
	Done    bool
	err     error
}

// New builds a candidate. records counts all records for a plan that needs it.
func New(env *exec.Env, cq *canonical.Query, s *node.Solution, records func() (int64, error)) Candidate {
	if cq.Filter != nil {
		env.Whole = cq.Filter
	}
	b := node.Builder{Env: env, Q: cq.Asked, Whole: cq.Filter, Records: records, Shared: &cq.Shared}
	return Candidate{builder: b, Plan: s, Env: env, Root: b.Build(s.Root)}
}

// Run lets the candidate go on until it has done that many works in all, has given enough rows or
// is at its end. It reports whether the trial is decided: the candidate has enough rows or is at
// its end.
func (t *Candidate) Run(ctx context.Context, works uint64, results int) bool {
	t.Env.SetLimit(works)
	for t.err == nil && !t.Done && len(t.Rows) < results && t.kept.total < trialBytes {
		row, err := t.Root.Next(ctx)
		switch {
		case errors.Is(err, exec.ErrPaused):
			return false
		case err != nil:
			t.err = err
			return false
		case row == nil:
			t.Done = true
		default:
			t.Rows = append(t.Rows, t.kept.keep(row))
		}
	}
	return t.err == nil
}

// Race lets all candidates work in turn, one work each, until one has decided the trial, and ranks
// them. It fails where the operation was interrupted or all candidates failed.
func Race(ctx context.Context, cs []*Candidate, results int) error {
	for works := uint64(1); works <= trialWorks; works++ {
		decided, alive := false, false
		for _, c := range cs {
			if c.err != nil {
				continue
			}
			decided = c.Run(ctx, works, results) || decided
			alive = alive || c.err == nil
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if !alive {
			return query.NewRefused(mongoerr.Within("error while multiplanner was selecting best plan", cs[0].err))
		}
		if decided {
			break
		}
	}
	rank(cs)
	return nil
}

// Resume returns the rows of a candidate after its trial: those of the trial come first.
func (t *Candidate) Resume() exec.Node {
	t.Env.Unlimited()
	if len(t.Rows) > 0 || t.Done {
		return exec.NewReplay(t.Env, t.Root, t.Rows, t.Done, t.builder.Reshape(t.Plan.Root))
	}
	return t.Root
}

// Results returns how many rows end a trial.
func Results(cq *canonical.Query) int {
	if cq.Asked.Limit > 0 && cq.Asked.Limit < trialResults {
		return int(cq.Asked.Limit)
	}
	return trialResults
}
