package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan"
)

// explainAggregateCommand explains an aggregate command within an explain command.
func explainAggregateCommand(ctx context.Context, req *Request, verbosity plan.Verbosity, reply *bsonx.Builder) error {
	if req.Has("explain") {
		return mongoerr.New(mongoerr.FailedToParse, "The 'explain' option is illegal when a explain verbosity is also provided")
	}
	return explainAggregate(ctx, req, verbosity, reply)
}

// explainAggregate explains an aggregate command. The cursor is not needed, but checked.
func explainAggregate(ctx context.Context, req *Request, verbosity plan.Verbosity, reply *bsonx.Builder) error {
	if !req.Body.Lookup("writeConcern").IsMissing() {
		return mongoerr.New(mongoerr.FailedToParse, "Aggregation explain does not support the'writeConcern' option")
	}
	if req.Has("cursor") {
		if _, err := aggregateBatchSize(req); err != nil {
			return err
		}
	}
	name, own, sc, err := req.checkAggregate()
	if err != nil {
		return err
	}
	return req.explainStages(ctx, sc, name, own, verbosity, reply)
}

// explainStages answers with the explanation of stages over a collection or view, or over none.
func (r *Request) explainStages(ctx context.Context, sc scope, name string, own ownStages, verbosity plan.Verbosity, reply *bsonx.Builder) error {
	p := r.pipelines(sc)
	p.verbosity = verbosity
	answer, err := p.explain(ctx, r.DB, name, own, sc.vars)
	if err != nil {
		return err
	}
	reply.String("explainVersion", "1")
	if answer.query != nil {
		reply.Doc("queryPlanner", answer.query.QueryPlanner)
		if answer.query.ExecutionStats != nil {
			reply.Doc("executionStats", answer.query.ExecutionStats)
		}
		r.appendCommand(reply, r.Body)
		r.Service.appendServer(reply)
		return nil
	}
	appendStages(reply, answer.stages)
	r.Service.appendServer(reply)
	r.appendCommand(reply, r.Body)
	return nil
}

// appendStages appends the stages of an explanation. One that is too large is only named.
func appendStages(reply *bsonx.Builder, stages []bsonx.Doc) {
	reply.StartArrayField("stages")
	for _, stage := range stages {
		if reply.Len()+len(stage) > maxExplained {
			stage = bsonx.NewDoc(string(stage.First().Key), bsonx.Empty, "warning", "stage omitted due to BSON size limit for explain")
		}
		reply.Elem(bsonx.Document(stage))
	}
	reply.End()
}

// explainView explains a find, count or distinct on a view, which are pipelines. It reports whether the command was one.
func explainView(ctx context.Context, req *Request, verbosity plan.Verbosity, reply *bsonx.Builder) (bool, error) {
	stagesOf, ok := map[string]func(*Request, string) (scope, []bsonx.Value, error){
		"find": findStages, "count": countStages, "distinct": distinctStages,
	}[req.Def.Name]
	if !ok {
		return false, nil
	}
	name, err := req.Collection()
	if err != nil || !isView(req.Service.Store.Lookup(req.DB, name)) {
		return false, err
	}
	sc, stages, err := stagesOf(req, name)
	if err != nil {
		return true, err
	}
	if req.Def.Name == "count" {
		stages = append(stages, bsonx.Document(bsonx.NewDoc("$count", "count")))
	}
	return true, req.explainStages(ctx, sc, name, ownStages{list: stages}, verbosity, reply)
}
