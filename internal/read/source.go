package read

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/table"
)

// PlanSource is the source of a cursor that reads from a running plan. It holds no storage snapshot
// between batches.
type PlanSource struct {
	Reads
	query  *query.Query
	coll   *table.Collection
	Run    *plan.Execution
	reader exec.Reader
	left   int64 // remaining documents up to the limit; negative if there is no limit
	// A tailable source has no end. atEnd is true after the source has read its whole snapshot.
	tailable, atEnd bool
	// arrivals is closed when documents arrive after the snapshot of the last Restore.
	arrivals <-chan struct{}
	// arrived is the number of arrivals at the last Restore; see table.Collection.Rest.
	arrived uint64
	meta    expr.Meta                            // metadata of the last document
	sortKey func(*exec.Row) (bsonx.Value, error) // computes sort keys; nil if they are not requested
	fields  exec.EntryFields
	key     []byte // index key of the last document
}

// OpenSource plans a query and returns a source of its documents.
func OpenSource(ctx context.Context, from Reads, q *query.Query) (*PlanSource, error) {
	src := new(PlanSource)
	if err := src.Open(ctx, from, q); err != nil {
		return nil, err
	}
	return src, nil
}

// Open plans a query. If the catalog has changed since the query's collection was looked up, Open
// looks the name up and plans again: an index or a collection that was dropped in between may be
// empty in the snapshot.
func (s *PlanSource) Open(ctx context.Context, from Reads, q *query.Query) error {
	s.Reads, s.query, s.left = from, q, -1
	s.reader = *exec.NewReader(from.view) // not Reader(), which allocates
	var run *plan.Execution
	err := table.RetryOn(table.ErrChanged, func() (err error) {
		run, err = s.Engine.Planner.Find(ctx, q, &s.reader)
		if !s.isStale(q.Coll) {
			return err
		}
		if err == nil {
			run.Close()
		}
		return s.again(&s.reader, q)
	})
	if err != nil {
		s.reader.Close()
		return err
	}
	s.Run, s.coll = run, q.Coll
	s.meta.Searched = q.Scores
	if q.RowMeta.SortKey {
		s.sortKey = q.SortKeys()
	}
	if q.Limit > 0 {
		s.left = q.Limit
	}
	s.tailable = q.Tailable && q.Coll != nil && q.Coll.Capped != nil
	return nil
}

// Next implements session.Source.
func (s *PlanSource) Next(ctx context.Context) (bsonx.Doc, error) {
	unpinned := !s.reader.Pinned()
	row, err := s.Run.Next(ctx)
	if err == nil && row == nil && unpinned && s.isStale(s.coll) {
		// A single get does not use a snapshot, so it may have run after the collection was
		// replaced.
		return s.reopen(ctx)
	}
	s.atEnd = err == nil && row == nil
	if err != nil || row == nil {
		return nil, err
	}
	s.left--
	if s.query.Scores {
		s.meta.Searched, s.meta.TextScore = true, bsonx.Missing
		if row.Scored {
			s.meta.TextScore = bsonx.Double(row.Score)
		}
	}
	if s.query.IndexKeys {
		if err := s.noteIndexKey(row); err != nil {
			return nil, err
		}
	}
	if row.Located {
		s.meta.GeoDistance, s.meta.GeoPoint = bsonx.Double(row.Distance), row.Place
	}
	if s.query.RowMeta != (query.RowMeta{}) {
		if err := s.noteRow(row); err != nil {
			return nil, err
		}
	}
	return row.Doc, nil
}

// noteRow sets the metadata of a row that the query requests: its sort key and its record id.
func (s *PlanSource) noteRow(row *exec.Row) (err error) {
	if s.sortKey != nil {
		if s.meta.SortKey, err = s.sortKey(row); err != nil {
			return err
		}
	}
	if s.query.RowMeta.RecordID {
		s.meta.RecordID, err = s.query.RecordID(row)
	}
	return err
}

// noteIndexKey sets the metadata indexKey of a row.
func (s *PlanSource) noteIndexKey(row *exec.Row) (err error) {
	s.meta.IndexKey = bsonx.Missing
	switch {
	case row.IndexKey != nil:
		s.meta.IndexKey = bsonx.Document(row.IndexKey)
	case row.Key != nil:
		s.key, err = s.fields.Document(s.key[:0], row)
		s.meta.IndexKey = bsonx.Document(s.key)
	}
	return err
}

// Meta implements source.MetaSource.
func (s *PlanSource) Meta() *expr.Meta { return &s.meta }

// Share implements source.Shared.
func (s *PlanSource) Share(ctx context.Context,
	work func(ctx context.Context, in source.Source) error,
) (workers int, err error) {
	workers, err = s.Run.Share(ctx, func(ctx context.Context, in exec.Node) error { return work(ctx, nodeSource{in}) })
	if err != nil && workers > 1 && ctx.Err() == nil {
		// The caller may read the documents again.
		s.Close()
		if again := s.Open(ctx, s.Reads, s.query); again != nil {
			return 1, again
		}
	}
	return workers, err
}

// nodeSource yields the documents of a node that Share has created. Share closes the node.
type nodeSource struct{ node exec.Node }

// Next implements source.Source.
func (s nodeSource) Next(ctx context.Context) (bsonx.Doc, error) {
	row, err := s.node.Next(ctx)
	if err != nil || row == nil {
		return nil, err
	}
	return row.Doc, nil
}

// Save implements source.Source. It does nothing: a Share ends before a Save could happen.
func (nodeSource) Save() {}

// Restore implements source.Source.
func (nodeSource) Restore(context.Context) error { return nil }

// Close implements source.Source.
func (nodeSource) Close() {}

func (s *PlanSource) reopen(ctx context.Context) (bsonx.Doc, error) {
	s.Close()
	if err := s.Open(ctx, s.Reads, s.query); err != nil {
		return nil, err
	}
	return s.Next(ctx)
}

// IsDone implements Ender.
func (s *PlanSource) IsDone(context.Context) bool {
	return !s.tailable && (s.left == 0 || s.Run.IsEOF())
}

// remaining implements limited.
func (s *PlanSource) remaining() int64 { return s.left }

// Save implements session.Source.
func (s *PlanSource) Save() {
	s.Run.Save()
	s.Run.Forget()
	s.reader.Close()
}

// Kept implements memory.Keeper.
func (s *PlanSource) Kept() int64 { return s.Run.Kept() }

// Restore implements session.Source.
func (s *PlanSource) Restore(ctx context.Context) error {
	if s.tailable {
		s.arrivals, s.arrived = s.coll.Arrivals() // before the snapshot, so that no insert is missed in between
	}
	s.reader.Pin() // before looking at the catalog: data that is dropped later is still in the snapshot
	if s.coll != nil {
		current := s.view.Current(s.coll)
		if current == nil || current.Namespace() != s.coll.Namespace() {
			return mongoerr.New(mongoerr.QueryPlanKilled, "collection dropped or renamed: %s", s.coll.Namespace())
		}
		if err := s.Run.CheckIndexes(current); err != nil {
			return err
		}
	}
	s.Run.Restore(&s.reader)
	s.Run.Observe(ctx)
	return nil
}

// Close implements session.Source.
func (s *PlanSource) Close() {
	s.Run.Close()
	s.reader.Close()
}
