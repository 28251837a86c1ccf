package crud

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/read"
)

// explainAggregateCommand explains the aggregate command req of an explain command.
func explainAggregateCommand(ctx context.Context, req *command.Request,
	verbosity explain.Verbosity, reply *bsonx.Builder,
) error {
	if req.Has("explain") {
		return mongoerr.New(mongoerr.FailedToParse, "The 'explain' option is illegal when a explain verbosity is also provided")
	}
	return explainAggregate(ctx, req, verbosity, reply)
}

// explainAggregate explains an aggregate command. It checks the argument cursor but opens no
// cursor.
func explainAggregate(ctx context.Context, req *command.Request,
	verbosity explain.Verbosity, reply *bsonx.Builder,
) error {
	if !req.Body.Lookup("writeConcern").IsMissing() {
		return mongoerr.New(mongoerr.FailedToParse, "Aggregation explain does not support the'writeConcern' option")
	}
	if req.Has("cursor") {
		if _, err := aggregateBatchSize(req); err != nil {
			return err
		}
	}
	name, own, sc, err := checkAggregate(req)
	if err != nil {
		return err
	}
	return explainStages(ctx, req, sc, name, own, verbosity, reply)
}

// explainStages appends the explanation of stages to the reply. name is a collection or view, or
// empty if the stages need no collection.
func explainStages(ctx context.Context, r *command.Request, sc read.Scope, name string, own read.OwnStages,
	verbosity explain.Verbosity, reply *bsonx.Builder,
) error {
	p := pipelinesOf(r, sc)
	p.Verbosity = verbosity
	answer, err := p.ExplainOwn(ctx, r.DB, name, own, sc.Vars)
	if err != nil {
		return err
	}
	reply.String("explainVersion", "1")
	if answer.Query != nil {
		reply.Doc("queryPlanner", answer.Query.QueryPlanner)
		if answer.Query.ExecutionStats != nil {
			reply.Doc("executionStats", answer.Query.ExecutionStats)
		}
		appendCommand(r, reply, r.Body)
		appendServer(r.Service, reply)
		return nil
	}
	appendStages(reply, answer.Stages)
	appendServer(r.Service, reply)
	appendCommand(r, reply, r.Body)
	return nil
}

// appendStages appends the stages of an explanation. A stage that would make the reply too large is
// shown without its details.
func appendStages(reply *bsonx.Builder, stages []bsonx.Doc) {
	reply.StartArrayField("stages")
	for _, stage := range stages {
		if reply.Len()+len(stage) > maxExplained {
			stage = bsonx.NewDoc(string(stage.First().Key), bsonx.Empty, "warning",
				"stage omitted due to BSON size limit for explain")
		}
		reply.Elem(bsonx.Document(stage))
	}
	reply.End()
}

// explainView explains a find, count or distinct on a view, which run as a pipeline. It returns
// false if the command is not one of them or does not read a view.
func explainView(ctx context.Context, req *command.Request, verbosity explain.Verbosity,
	reply *bsonx.Builder,
) (bool, error) {
	stagesOf, ok := map[string]func(*command.Request, string) (read.Scope, []bsonx.Value, error){
		"find": findStages, "count": countStages, "distinct": distinctStages,
	}[req.Def.Name]
	if !ok {
		return false, nil
	}
	name, err := req.Collection()
	if err != nil || !read.IsView(req.Service.Store.Lookup(req.DB, name)) {
		return false, err
	}
	sc, stages, err := stagesOf(req, name)
	if err != nil {
		return true, err
	}
	if req.Def.Name == "count" {
		stages = append(stages, bsonx.Document(bsonx.NewDoc("$count", "count")))
	}
	return true, explainStages(ctx, req, sc, name, read.OwnStages{List: stages}, verbosity, reply)
}
