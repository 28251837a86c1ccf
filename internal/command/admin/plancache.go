package admin

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/crud"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/table"
)

// PlanCacheCommands returns the definitions of planCacheClear and planCacheListFilters.
func PlanCacheCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "planCacheClear", Loose: true,
			Help: "Forgets the cached plans of a collection.", Run: runPlanCacheClear,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
			Fields: []command.Field{
				{Name: "query", Type: command.Object},
				{Name: "sort", Type: command.Object},
				{Name: "projection", Type: command.Object},
				{Name: "collation", Type: command.Object},
			},
		},
		{
			Name: "planCacheListFilters", Loose: true,
			Help: "Lists the index filters of a collection.", Run: runPlanCacheListFilters,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
	}
}

func runPlanCacheClear(_ context.Context, req *command.Request, _ *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	c := req.Service.Store.Lookup(req.DB, name)
	if c == nil {
		return nil
	}
	if !req.Has("query") {
		if req.Has("sort") || req.Has("projection") || req.Has("collation") {
			return mongoerr.New(mongoerr.BadValue, "sort, projection, or collation provided without query")
		}
		req.Service.Planner.ClearCache(c.ID)
		return nil
	}
	q, err := shapeQuery(req, name, c)
	if err != nil {
		return err
	}
	return req.Service.Planner.ClearShape(q)
}

// shapeQuery returns the query whose shape the arguments of a plan cache command describe.
func shapeQuery(req *command.Request, name string, c *table.Collection) (*query.Query, error) {
	sc, err := command.CollatedScope(req, c)
	if err != nil {
		return nil, err
	}
	q := &query.Query{DB: req.DB, Name: name, Coll: c, Collation: sc.Collation}
	if q.Filter, err = sc.FilterOrAll(req.Doc("query")); err != nil {
		return nil, err
	}
	if q.Projection, err = sc.Projection(req.Doc("projection"), q.Filter); err != nil {
		return nil, err
	}
	if sort := req.Doc("sort"); sort != nil {
		if err := crud.CheckSort(sort); err != nil {
			return nil, err
		}
		q.Sort = sort
		if err := query.CheckSortMeta(q.Sort, q.Filter); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// runPlanCacheListFilters replies that there are no index filters, because they cannot be set.
func runPlanCacheListFilters(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	if _, err := req.LegacyCollection(); err != nil {
		return err
	}
	reply.Array("filters", bsonx.Empty)
	return nil
}
