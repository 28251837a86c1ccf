package crud

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/limits"
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
		if reply.Len()+len(stage) > limits.ExplainBytes {
			stage = bsonx.NewDoc(string(stage.First().Key), bsonx.Empty, "warning",
				"stage omitted due to BSON size limit for explain")
		}
		reply.Elem(bsonx.Document(stage))
	}
	reply.End()
}

// explainRead explains a command that reads a collection or a view. On a collection it is
// explainPlan; on a view the command runs as a pipeline with the stages that stagesOf returns.
func explainRead(ask func(req *command.Request) (*explain.Request, error),
	stagesOf func(req *command.Request, view string) (read.Scope, []bsonx.Value, error),
) command.Explainer {
	plan := explainPlan(ask)
	return func(ctx context.Context, req *command.Request, verbosity explain.Verbosity, reply *bsonx.Builder) error {
		name, err := req.Collection()
		if err != nil {
			return err
		}
		c, err := req.Lookup(name)
		if err != nil {
			return err
		}
		if !read.IsView(c) {
			return plan(ctx, req, verbosity, reply)
		}
		sc, stages, err := stagesOf(req, name)
		if err != nil {
			return err
		}
		return explainStages(ctx, req, sc, name, read.OwnStages{List: stages}, verbosity, reply)
	}
}
