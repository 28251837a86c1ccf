package crud

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/read"
)

// findOnView runs a find command on a view.
func findOnView(ctx context.Context, req *command.Request, name string, reply *bsonx.Builder) error {
	sc, stages, err := findStages(req, name)
	if err != nil {
		return err
	}
	return runStages(ctx, req, sc, name, read.OwnStages{List: stages}, req.Int64("batchSize", limits.FirstBatch), reply)
}

// collatedScope returns the scope of a command that reads a collection or view, with the collation
// of the command, or else of the collection.
func collatedScope(req *command.Request, name string) (read.Scope, error) {
	sc, err := command.NewScope(req)
	if err != nil {
		return read.Scope{}, err
	}
	c, err := req.Lookup(name)
	if err != nil {
		return read.Scope{}, err
	}
	return sc.Collated(req.Get("collation"), c)
}

// findStages converts a find on a view to the stages of a pipeline. It turns a sort by $natural
// into a hint in the scope.
func findStages(req *command.Request, name string) (read.Scope, []bsonx.Value, error) {
	var q query.Query
	if err := findQuery(req, name, nil, &q); err != nil {
		return read.Scope{}, nil, err
	}
	if err := checkViewOptions(req, &q); err != nil {
		return read.Scope{}, nil, err
	}
	sc, err := collatedScope(req, name)
	if err != nil {
		return read.Scope{}, nil, err
	}
	stages := read.AppendStage(nil, "$match", req.Doc("filter"))
	if sc.Hint, err = query.NaturalHint(q.Sort, req.Get("hint")); err != nil {
		return read.Scope{}, nil, err
	}
	if sc.Hint.IsMissing() {
		stages = read.AppendStage(stages, "$sort", req.Doc("sort"))
	}
	if n := req.Int64("skip", 0); n > 0 {
		stages = append(stages, bsonx.Document(bsonx.NewDoc("$skip", n)))
	}
	if n := req.Int64("limit", 0); n > 0 {
		stages = append(stages, bsonx.Document(bsonx.NewDoc("$limit", n)))
	}
	return sc, read.AppendStage(stages, "$project", req.Doc("projection")), nil
}

// checkViewOptions returns an error for options of find that a pipeline does not support.
// singleBatch is allowed with limit 1, where it has no effect.
func checkViewOptions(req *command.Request, q *query.Query) error {
	c, err := req.Lookup(q.Name)
	if err != nil {
		return err
	}
	virtual := read.IsVirtual(c)
	for _, option := range []struct {
		name  string
		given bool
	}{
		{"min", q.Min != nil},
		{"max", q.Max != nil},
		{"returnKey", q.ReturnKey},
		{"showRecordId", q.ShowRecordID},
		{"tailable", q.Tailable},
		{"noCursorTimeout", req.Bool("noCursorTimeout") && !virtual}, // export tools set it
		{"singleBatch", req.Bool("singleBatch") && q.Limit != 1},
		{"readOnce", req.Bool("readOnce")},
	} {
		switch {
		case option.given && option.name == "tailable":
			return mongoerr.New(mongoerr.InvalidPipelineOperator, "Tailable cursors are not supported in aggregation.")
		case option.given:
			return mongoerr.New(mongoerr.InvalidPipelineOperator,
				"Option %s not supported in aggregation.", option.name)
		}
	}
	return nil
}

// countOnView counts the documents of a view.
func countOnView(ctx context.Context, req *command.Request, name string) (int64, error) {
	sc, stages, err := countStages(req, name)
	if err != nil {
		return 0, err
	}
	src, err := openStages(ctx, req, sc, name,
		read.OwnStages{List: read.AppendStage(stages, "$group", read.CountGroup)})
	if err != nil {
		return 0, err
	}
	defer src.Close()
	doc, err := src.Next(ctx)
	if err != nil || doc == nil {
		return 0, read.Executing(read.DuringAggregate, req.DB, name, err)
	}
	n, _ := doc.Lookup("n").AsInt64()
	return n, nil
}

// countStages returns the stages whose documents a count command on a view counts.
func countStages(req *command.Request, name string) (read.Scope, []bsonx.Value, error) {
	sc, err := collatedScope(req, name)
	if err != nil {
		return read.Scope{}, nil, err
	}
	q, err := countQuery(req, name, nil)
	if err != nil {
		return read.Scope{}, nil, err
	}
	stages := read.AppendStage(nil, "$match", req.Doc("query"))
	if q.Skip > 0 {
		stages = append(stages, bsonx.Document(bsonx.NewDoc("$skip", q.Skip)))
	}
	if req.Has("limit") { // the stage $limit refuses 0
		stages = append(stages, bsonx.Document(bsonx.NewDoc("$limit", q.Limit)))
	}
	return sc, stages, nil
}

// distinctOnView returns the distinct values of a field of a view. It unwinds arrays on the path,
// because a distinct on a collection descends into arrays.
func distinctOnView(ctx context.Context, req *command.Request, name string) (bsonx.Value, error) {
	sc, stages, err := distinctStages(req, name)
	if err != nil {
		return bsonx.Missing, err
	}
	src, err := openStages(ctx, req, sc, name, read.OwnStages{List: stages})
	if err != nil {
		return bsonx.Missing, err
	}
	defer src.Close()
	doc, err := src.Next(ctx)
	if err != nil || doc == nil {
		return bsonx.NewArray(), read.Executing(read.DuringAggregate, req.DB, name, err)
	}
	return doc.Lookup("distinct").Clone(), nil
}

// distinctStages converts a distinct on a view to the stages of a pipeline.
func distinctStages(req *command.Request, name string) (read.Scope, []bsonx.Value, error) {
	if _, err := hintedQuery(req, name, nil); err != nil {
		return read.Scope{}, nil, err
	}
	sc, err := collatedScope(req, name)
	if err != nil {
		return read.Scope{}, nil, err
	}
	key := req.String("key")
	path, err := expr.SplitFieldPath(key)
	if err != nil {
		return read.Scope{}, nil, err
	}
	stages := read.AppendStage(nil, "$match", req.Doc("query"))
	for i := range path {
		prefix := strings.Join(path[:i+1], ".")
		stages = read.AppendStage(stages, "$unwind",
			bsonx.NewDoc("path", "$"+prefix, "preserveNullAndEmptyArrays", true))
		if i < len(path)-1 {
			stages = read.AppendStage(stages, "$match", bsonx.NewDoc(prefix, bsonx.NewDoc("$type", "object")))
		}
	}
	stages = read.AppendStage(stages, "$group",
		bsonx.NewDoc("_id", bsonx.Null, "distinct", bsonx.NewDoc("$addToSet", "$"+key)))
	return sc, stages, nil
}
