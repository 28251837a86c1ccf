package explain

import (
	"context"
	"errors"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/plan/trial"
)

// Run runs the chosen plan if the verbosity demands it, and describes it. planning is the time that
// the choice took.
func Run(ctx context.Context, req *Request, c *trial.Choice, planning time.Duration, clk clock.Clock,
) (*Explanation, error) {
	e := &explainer{ctx: ctx, req: req, choice: c, planning: planning}
	var trials []trialStats
	if req.Verbosity == AllPlansExecution && len(c.Candidates) > 1 {
		// The statistics of the trial are recorded before the winner continues.
		trials = e.noteTrials()
	}
	if req.Verbosity == QueryPlanner {
		return &Explanation{QueryPlanner: e.queryPlanner()}, interrupt.Cause(ctx)
	}
	begin := clk.Now()
	if err := e.run(ctx); err != nil && !e.shows(ctx, err) {
		return nil, err
	}
	took := clk.Now().Sub(begin) + e.planning
	planner := e.queryPlanner()
	return &Explanation{QueryPlanner: planner, ExecutionStats: e.executionStats(took, trials,
		len(planner))}, interrupt.Cause(ctx)
}

// explainer writes the parts of the reply. After the end of the operation it leaves out parts that
// take long.
type explainer struct {
	ctx      context.Context
	req      *Request
	choice   *trial.Choice
	planning time.Duration
	returned uint64
	replayed int // number of rows of the trial that were consumed
	// failure is the error with which the run ended, or nil.
	failure *mongoerr.Error
}

// shows reports whether explain shows the error of a run, and stores it in e.failure. An
// interrupted operation and a pipeline whose stages failed return the error instead.
func (e *explainer) shows(ctx context.Context, err error) bool {
	return e.req.Consume == nil && interrupt.Cause(ctx) == nil && errors.As(err, &e.failure)
}

// run runs the winner to its end. For a write of one document, it stops after the first document.
func (e *explainer) run(ctx context.Context) error {
	e.choice.Winner().Env.Unlimited()
	if e.req.Consume != nil {
		return e.req.Consume(ctx, e.next)
	}
	for {
		row, err := e.row(ctx)
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		if e.req.Try != nil {
			if err := e.req.Try(ctx, row.Doc); err != nil {
				return err
			}
		}
		e.returned++
		if e.single() {
			return nil
		}
	}
	if e.upserts() && e.req.TryUpsert != nil {
		return e.req.TryUpsert()
	}
	return nil
}

// upserts reports whether the update would insert a document.
func (e *explainer) upserts() bool { return e.req.Upsert && e.returned == 0 }

// next returns the next document of the winner, or nil at the end.
func (e *explainer) next(ctx context.Context) (bsonx.Doc, error) {
	if e.req.Command == Matches {
		return e.nextMatch(ctx)
	}
	row, err := e.row(ctx)
	if err != nil || row == nil {
		return nil, err
	}
	e.returned++
	return row.Doc, nil
}

// row returns the next row of the winner, or nil at the end. It begins with the rows of the trial.
func (e *explainer) row(ctx context.Context) (*exec.Row, error) {
	t := e.choice.Winner()
	if e.replayed < len(t.Rows) {
		e.replayed++
		return t.Rows[e.replayed-1], nil
	}
	if t.Done {
		return nil, nil
	}
	return t.Root.Next(ctx)
}

// nextMatch returns an empty document for each match that the winner has counted.
func (e *explainer) nextMatch(ctx context.Context) (bsonx.Doc, error) {
	t := e.choice.Winner()
	if !t.Done {
		t.Done = true
		if _, err := t.Root.Next(ctx); err != nil {
			return nil, err
		}
	}
	if e.returned == t.Root.Stats().Counted {
		return nil, ctx.Err()
	}
	e.returned++
	return bsonx.Empty, nil
}

// plan returns the part of a candidate that is shown. If a pipeline counts matches, it is the input
// of the count.
func (e *explainer) plan(t *trial.Candidate) (node.Node, exec.Node) {
	if c, ok := t.Plan.Root.(*node.Count); ok && e.req.Command == Matches {
		return c.In, node.InputOf(t.Root, 0)
	}
	return t.Plan.Root, t.Root
}

// single reports whether the command changes at most one document.
func (e *explainer) single() bool { return e.writes() && !e.req.Multi }

func (e *explainer) writes() bool { return e.req.Writes() }
