package plan

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// The bounds of a trial, as MongoDB has them.
const (
	trialWorks   = 10000 // internalQueryPlanEvaluationWorks
	trialResults = 101   // internalQueryPlanEvaluationMaxResults
	// replanFactor is how many times the works of its trial a cached plan may take before others are tried again
	// (internalQueryCacheEvictionRatio).
	replanFactor = 10
	// trialBytes is how much a candidate's rows take at most, if they are several: they stay in memory until they were given out.
	trialBytes = 4 << 20
)

// candidate is a plan under trial.
type candidate struct {
	builder builder
	sol     *solution
	env     *exec.Env
	root    exec.Node
	rows    []*exec.Row
	kept    keptRows
	done    bool
	err     error
}

// newCandidate builds a candidate. records counts all records for a plan that needs it.
func newCandidate(env *exec.Env, cq *canonical, s *solution, records func() (int64, error)) candidate {
	if cq.filter != nil {
		env.Whole = cq.filter
	}
	b := builder{env: env, q: cq.q, whole: cq.filter, records: records, shared: &cq.shared}
	return candidate{builder: b, sol: s, env: env, root: b.build(s.root)}
}

// run lets the candidate go on until it has done that many works in all, has given enough rows or is at its end. It
// reports whether the trial is decided: the candidate has enough rows or is at its end.
func (t *candidate) run(ctx context.Context, works uint64, results int) bool {
	t.env.SetLimit(works)
	for t.err == nil && !t.done && len(t.rows) < results && t.kept.total < trialBytes {
		row, err := t.root.Next(ctx)
		switch {
		case errors.Is(err, exec.ErrPaused):
			return false
		case err != nil:
			t.err = err
			return false
		case row == nil:
			t.done = true
		default:
			t.rows = append(t.rows, t.kept.keep(row))
		}
	}
	return t.err == nil
}

// race lets all candidates work in turn, one work each, until one has decided the trial, and ranks them. It fails
// where the operation was interrupted or all candidates failed.
func race(ctx context.Context, cs []*candidate, results int) error {
	for works := uint64(1); works <= trialWorks; works++ {
		decided, alive := false, false
		for _, c := range cs {
			if c.err != nil {
				continue
			}
			decided = c.run(ctx, works, results) || decided
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

// resume returns the rows of a candidate after its trial: those of the trial come first.
func (t *candidate) resume() exec.Node {
	t.env.Unlimited()
	if len(t.rows) > 0 || t.done {
		return exec.NewReplay(t.env, t.root, t.rows, t.done, t.builder.reshape(t.sol.root))
	}
	return t.root
}

// results returns how many rows end a trial.
func results(cq *canonical) int {
	if cq.q.Limit > 0 && cq.q.Limit < trialResults {
		return int(cq.q.Limit)
	}
	return trialResults
}
