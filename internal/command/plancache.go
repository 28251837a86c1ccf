package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

func planCacheCommands() []Definition {
	return []Definition{
		{
			Name: "planCacheClear", Loose: true, Help: "Forgets the cached plans of a collection.", Run: runPlanCacheClear,
			Fields: []Field{
				{Name: "query", Type: Object}, {Name: "sort", Type: Object}, {Name: "projection", Type: Object}, {Name: "collation", Type: Object},
			},
		},
		{Name: "planCacheListFilters", Loose: true, Help: "Lists the index filters of a collection.", Run: runPlanCacheListFilters},
	}
}

func runPlanCacheClear(_ context.Context, req *Request, _ *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	if c := req.Service.Store.Lookup(req.DB, name); c != nil {
		req.Service.Planner.ClearCache(c.ID)
	}
	return nil
}

// runPlanCacheListFilters answers as a server on which none was set: they cannot be set yet.
func runPlanCacheListFilters(_ context.Context, req *Request, reply *bsonx.Builder) error {
	if _, err := req.Collection(); err != nil {
		return err
	}
	reply.Array("filters", bsonx.Empty)
	return nil
}
