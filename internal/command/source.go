package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/table"
)

// planSource lets a cursor read from a running plan. Between batches it holds no snapshot.
type planSource struct {
	store  *table.Store
	coll   *table.Collection
	run    *plan.Execution
	reader *exec.Reader
	left   int64 // documents up to the limit; negative without one
	// tailable sources have no end. arrivals tells them of documents that came after the snapshot of the last Restore.
	tailable bool
	arrivals <-chan struct{}
}

// openSource plans a query.
func openSource(ctx context.Context, s *Service, q *plan.Query) (*planSource, error) {
	reader := exec.NewReader(s.Store.Engine())
	run, err := s.Planner.Find(ctx, q, reader)
	if err != nil {
		reader.Close()
		return nil, err
	}
	left := int64(-1)
	if q.Limit > 0 {
		left = q.Limit
	}
	return &planSource{store: s.Store, coll: q.Coll, run: run, reader: reader, left: left, tailable: q.Tailable && q.Coll != nil && q.Coll.Capped != nil}, nil
}

// Next implements session.Source.
func (s *planSource) Next(ctx context.Context) (bsonx.Doc, error) {
	row, err := s.run.Next(ctx)
	if err != nil || row == nil {
		return nil, err
	}
	s.left--
	return row.Doc, nil
}

// done reports whether it is known, without another look, that there is no further document.
func (s *planSource) done() bool { return !s.tailable && (s.left == 0 || s.run.IsEOF()) }

// Save implements session.Source.
func (s *planSource) Save() {
	s.run.Save()
	s.reader.Close()
}

// Restore implements session.Source.
func (s *planSource) Restore(context.Context) error {
	if s.tailable {
		s.arrivals = s.coll.Arrivals() // before the snapshot: no insert is between them
	}
	if s.coll != nil {
		current := s.store.Current(s.coll)
		if current == nil || current.Namespace() != s.coll.Namespace() {
			return mongoerr.New(mongoerr.QueryPlanKilled, "collection dropped or renamed: %s", s.coll.Namespace())
		}
		if err := s.run.CheckIndexes(current); err != nil {
			return err
		}
	}
	s.run.Restore(s.reader)
	return nil
}

// Close implements session.Source.
func (s *planSource) Close() {
	s.run.Close()
	s.reader.Close()
}

// report tells the slow-operation log what the plan did so far.
func (s *planSource) report(d *session.OpDebug) {
	keys, docs := s.run.Examined()
	d.KeysExamined, d.DocsExamined = int64(keys), int64(docs)
	d.PlanSummary = s.run.Summary()
}
