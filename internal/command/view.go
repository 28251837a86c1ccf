package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/table"
)

// A find, count or distinct on a view becomes a pipeline behind the view's own.

// isView reports whether c, which may be nil, is a view.
func isView(c *table.Collection) bool { return c != nil && c.Kind == catalog.KindView }

// findOnView runs a find command on a view.
func findOnView(ctx context.Context, req *Request, name string, reply *bsonx.Builder) error {
	for _, option := range []string{"min", "max", "returnKey", "showRecordId", "tailable", "awaitData", "noCursorTimeout"} {
		if v := req.Get(option); v.Type == bsonx.TypeDocument || v.Truthy() {
			return mongoerr.New(mongoerr.InvalidPipelineOperator, "Option %s is not supported on views", option)
		}
	}
	sc, err := newScope(req)
	if err != nil {
		return err
	}
	if err := findQuery(req, name, nil, new(plan.Query)); err != nil {
		return err
	}
	stages := appendStage(nil, "$match", req.Doc("filter"))
	if sort := req.Doc("sort"); !sort.IsEmpty() {
		if string(sort.First().Key) == "$natural" {
			return mongoerr.New(mongoerr.InvalidPipelineOperator, "$natural sort cannot be set to a value other than -1 or 1 on a view")
		}
		stages = appendStage(stages, "$sort", sort)
	}
	if n := req.Int64("skip", 0); n > 0 {
		stages = append(stages, bsonx.Document(bsonx.NewDoc("$skip", n)))
	}
	if n := req.Int64("limit", 0); n > 0 {
		stages = append(stages, bsonx.Document(bsonx.NewDoc("$limit", n)))
	}
	stages = appendStage(stages, "$project", req.Doc("projection"))
	return req.runStages(ctx, sc, name, stages, req.Int64("batchSize", defaultFirstBatch), reply)
}

// appendStage adds a stage whose argument is not empty.
func appendStage(stages []bsonx.Value, name string, arg bsonx.Doc) []bsonx.Value {
	if arg.IsEmpty() {
		return stages
	}
	return append(stages, bsonx.Document(bsonx.NewDoc(name, arg)))
}

// countOnView counts the documents of a view.
func countOnView(ctx context.Context, req *Request, name string) (int64, error) {
	sc, err := newScope(req)
	if err != nil {
		return 0, err
	}
	q, err := countQuery(req, name, nil)
	if err != nil {
		return 0, err
	}
	stages := appendStage(nil, "$match", req.Doc("query"))
	if q.Skip > 0 {
		stages = append(stages, bsonx.Document(bsonx.NewDoc("$skip", q.Skip)))
	}
	if q.Limit > 0 {
		stages = append(stages, bsonx.Document(bsonx.NewDoc("$limit", q.Limit)))
	}
	src, err := req.openStages(ctx, sc, name, stages)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	for n := int64(0); ; n++ {
		doc, err := src.Next(ctx)
		if err != nil || doc == nil {
			return n, err
		}
	}
}
