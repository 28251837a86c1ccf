package trial

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// trialBytes is the size of a candidate's rows at which its trial stops, in bytes. The rows stay in
// memory until they were yielded. MongoDB has no such limit.
const trialBytes = 4 << 20

// Candidate is a plan in a trial.
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

// New builds the operators of a candidate. records returns the number of all records, for plans
// that need it.
func New(env *exec.Env, cq *canonical.Query, s *node.Solution, records func() (int64, error)) Candidate {
	if cq.Filter != nil {
		env.Whole = cq.Filter
	}
	b := node.Builder{Env: env, Q: cq.Asked, Whole: cq.Filter, Records: records, Shared: &cq.Shared}
	return Candidate{builder: b, Plan: s, Env: env, Root: b.Build(s.Root)}
}

// Run continues the candidate until it has done the given total of works, has yielded enough rows,
// or has reached its end. It reports whether it decides the trial: it has enough rows or has
// reached its end.
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

// Race runs all candidates in turn, one work at a time, until one decides the trial, and ranks
// them. It fails if the operation was interrupted or all candidates failed.
func Race(ctx context.Context, cs []*Candidate, results int) error {
	for works := uint64(1); works <= limits.TrialWorks; works++ {
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

// Resume returns a node that yields the rows of the trial and then the candidate's further rows.
func (t *Candidate) Resume() exec.Node {
	t.Env.Unlimited()
	if len(t.Rows) > 0 || t.Done {
		return exec.NewReplay(t.Env, t.Root, t.Rows, t.Done, t.builder.Reshape(t.Plan.Root))
	}
	return t.Root
}

// Results returns the number of rows that decide a trial.
func Results(cq *canonical.Query) int {
	if cq.Asked.Limit > 0 && cq.Asked.Limit < limits.TrialResults {
		return int(cq.Asked.Limit)
	}
	return limits.TrialResults
}
