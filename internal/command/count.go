package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/table"
)

func countCommands() []Definition {
	return []Definition{{
		Name: "count", Help: "Counts the documents that match a filter.",
		Run: runCount, Read: true, API1: true,
		Fields: []Field{
			{Name: "query", Type: Object},
			{Name: "limit", Type: SafeInt},
			{Name: "skip", Type: SafeInt, Check: AtLeast(0)},
			{Name: "hint", Type: Any},
			{Name: "collation", Type: Object},
			{Name: "fields", Type: Object},
			{Name: "queryOptions", Type: Object},
			{Name: "encryptionInformation", Type: Object},
		},
	}}
}

func runCount(ctx context.Context, req *Request, reply *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	var n int64
	if c := req.Service.Store.Lookup(req.DB, name); isView(c) {
		n, err = countOnView(ctx, req, name)
	} else {
		n, err = countCollection(ctx, req, name, c)
	}
	if err != nil {
		return err
	}
	appendNumber(reply, "n", n)
	return nil
}

func countCollection(ctx context.Context, req *Request, name string, c *table.Collection) (int64, error) {
	q, err := countQuery(req, name, c)
	if err != nil {
		return 0, err
	}
	return req.Service.countMatches(ctx, q)
}

// countMatches counts what a query finds, again where the catalog was changed meanwhile.
func (s *Service) countMatches(ctx context.Context, q *plan.Query) (int64, error) {
	reader := exec.NewReader(s.Store.Engine())
	defer reader.Close()
	for {
		if s.pin(reader, q.Coll) {
			n, err := s.Planner.Count(ctx, q, reader, s.recordCount(q.Coll))
			// Without a filter the snapshot is not asked.
			if err != nil || n > 0 || !s.isStale(q.Coll) {
				return n, err
			}
		}
		reader.Close()
		var err error
		if q.Coll, err = s.again(q); err != nil {
			return 0, err
		}
	}
}

func countQuery(req *Request, name string, c *table.Collection) (*plan.Query, error) {
	if err := checkHint(req.Get("hint")); err != nil {
		return nil, err
	}
	sc, err := newScope(req)
	if err != nil {
		return nil, err
	}
	if sc, err = sc.collated(req.Get("collation"), c); err != nil {
		return nil, err
	}
	f, err := sc.filterOrAll(req.Doc("query"))
	if err != nil {
		return nil, err
	}
	limit := req.Int64("limit", 0)
	if limit < 0 {
		limit = -limit // old clients ask for a hard limit so
	}
	return &plan.Query{
		DB: req.DB, Name: name, Coll: c, Filter: f, Collation: sc.collation, Skip: req.Int64("skip", 0), Limit: limit, Hint: req.Get("hint"),
	}, nil
}

// recordCount returns the counter of a collection for the planner.
func (s *Service) recordCount(c *table.Collection) plan.Counter {
	if c == nil {
		return nil
	}
	return func() (int64, error) {
		counter, err := s.Store.Count(c)
		return counter.Count, err
	}
}
