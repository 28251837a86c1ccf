package plan

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/storage"
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
	query  *query.Query
	whole  *filter.Filter
	shared *bounds.Shared
	sol    *solution
	env    *exec.Env
	root   exec.Node
	rows   []*exec.Row
	kept   keptRows
	done   bool
	err    error
}

// start builds a candidate.
func (p *Planner) start(cq *canonical, s *solution, r storage.Reader, records Counter) candidate {
	env := exec.NewEnv(r)
	env.TempDir, env.SortMemory, env.AllowDiskUse = p.opts.TempDir, int(p.sortMemory.Load()), cq.q.AllowDiskUse
	env.Memory = p.opts.Memory
	if cq.filter != nil {
		env.Whole = cq.filter
	}
	b := builder{env: env, q: cq.q, whole: cq.filter, records: records, shared: &cq.shared}
	return candidate{query: cq.q, whole: cq.filter, shared: &cq.shared, sol: s, env: env, root: b.build(s.root)}
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

// results returns how many rows end a trial.
func (cq *canonical) results() int {
	if cq.q.Limit > 0 && cq.q.Limit < trialResults {
		return int(cq.q.Limit)
	}
	return trialResults
}

// execution goes on with a candidate after its trial.
func (t *candidate) execution() *Execution {
	t.env.Unlimited()
	root := t.root
	if len(t.rows) > 0 || t.done {
		root = exec.NewReplay(t.env, root, t.rows, t.done, t.again())
	}
	return &Execution{env: t.env, root: root, plan: t.sol}
}

// again returns what shapes a row of the trial anew, nil where the rows are those of a sort.
func (t *candidate) again() *exec.Again {
	if has[*sortNode](t.sol.root) {
		return nil
	}
	b, root := builder{env: t.env, q: t.query, whole: t.whole, shared: t.shared}, t.sol.root
	return &exec.Again{
		Build: func(in exec.Node) exec.Node { return b.again(root, in) },
		Entry: has[*returnKey](root) || isCovered(root),
	}
}

// isCovered reports whether a plan makes its rows of index entries alone.
func isCovered(root node) bool {
	covered := false
	walk(root, func(n node) {
		p, ok := n.(*project)
		covered = covered || ok && p.covered != nil
	})
	return covered
}

// again builds the nodes of a plan that shape one row: in gives it without a document.
func (b *builder) again(n node, in exec.Node) exec.Node {
	switch n := n.(type) {
	case *limit:
		return b.again(n.in, in)
	case *skip:
		return b.again(n.in, in)
	case *subplan:
		return b.again(n.in, in)
	case *express:
		return b.again(n.in, in)
	case *project:
		if n.covered != nil {
			return b.projected(n, in)
		}
		return b.projected(n, b.again(n.in, in))
	case *returnKey:
		return exec.NewProject(b.env, b.again(n.in, in), b.returnedKey())
	case *recordID:
		return exec.NewProject(b.env, b.again(n.in, in), recordIDs(b.q.Coll))
	default: // what gives the plan's records
	}
	return exec.NewFetch(b.env, b.q.Coll, in, b.env.Whole)
}
