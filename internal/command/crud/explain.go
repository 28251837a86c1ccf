package crud

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/dispatch"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/write"
)

// ExplainCommands returns the definition of explain.
func ExplainCommands() []command.Definition {
	return []command.Definition{{
		Name: "explain", Help: "Shows how a command would be executed.",
		Properties: command.Properties{
			Writes: feature.No, Transactions: feature.No, StableAPI: feature.Yes, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Run: runExplain, Read: true, Snapshot: true, CommandField: command.Object,
		Fields: []command.Field{{Name: "verbosity", Type: command.String}},
	}}
}

func runExplain(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	verbosity := explain.AllPlansExecution
	if req.Has("verbosity") {
		verbosity = explain.Verbosity(req.String("verbosity"))
		if !slices.Contains([]explain.Verbosity{
			explain.QueryPlanner, explain.ExecutionStats,
			explain.AllPlansExecution,
		}, verbosity) {
			return mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field 'explain.verbosity' is not a valid value.", verbosity)
		}
	}
	body := req.CommandValue().Doc()
	inner, err := inner(req, body)
	if err != nil {
		return err
	}
	if inner.Def.Explain == nil {
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot explain cmd: %s", inner.Name)
	}
	return inner.Def.Explain(ctx, inner, verbosity, reply)
}

// explainPlan explains a command that runs one plan. ask converts the command to a request for the
// planner.
func explainPlan(ask func(req *command.Request) (*explain.Request, error)) command.Explainer {
	return func(ctx context.Context, req *command.Request, verbosity explain.Verbosity, reply *bsonx.Builder) error {
		asked, err := ask(req)
		if err != nil {
			return err
		}
		asked.Verbosity = verbosity
		asked.Query.DB = req.DB
		reader := exec.NewReader(req.Service.Store.Newest())
		defer reader.Close()
		answer, err := req.Service.Planner.Explain(ctx, asked, reader)
		if err != nil {
			return err
		}
		reply.String("explainVersion", "1")
		reply.Doc("queryPlanner", answer.QueryPlanner)
		if answer.ExecutionStats != nil {
			reply.Doc("executionStats", answer.ExecutionStats)
		}
		appendCommand(req, reply, req.Body)
		appendServer(req.Service, reply)
		return nil
	}
}

// appendCommand appends the explained command, or a warning if the reply would be too large.
func appendCommand(r *command.Request, reply *bsonx.Builder, body bsonx.Doc) {
	if reply.Len()+len(body) > limits.ExplainBytes {
		reply.String("warning", "'command' has been omitted due to BSON size limit")
		return
	}
	reply.StartDocField("command")
	reply.Fields(body)
	if body.Lookup("$db").IsMissing() {
		reply.String("$db", r.DB)
	}
	reply.End()
}

// appendServer appends the fields serverInfo and serverParameters of explain.
func appendServer(s *command.Service, reply *bsonx.Builder) {
	reply.StartDocField("serverInfo")
	reply.String("host", s.Hostname)
	if port := s.Port.Load(); port > 0 {
		reply.Int32("port", int32(port))
	}
	reply.String("version", s.Build.Version)
	reply.String("gitVersion", s.Build.Revision)
	reply.End()
	reply.StartDocField("serverParameters")
	for _, name := range [...]string{
		"internalQueryFacetMaxOutputDocSizeBytes", "internalLookupStageIntermediateDocumentMaxSizeBytes",
		"internalDocumentSourceGroupMaxMemoryBytes", command.SortMemoryParam,
		"internalDocumentSourceSetWindowFieldsMaxMemoryBytes",
	} {
		if p, ok := s.Params.Lookup(name); ok {
			command.AppendNumber(reply, name, bsonx.SaturatingInt64(p.Get()))
		}
	}
	if p, ok := s.Params.Lookup(command.QueryFrameworkParam); ok {
		reply.Value(command.QueryFrameworkParam, p.Get())
	}
	if p, ok := s.Params.Lookup(command.CollationRegexParam); ok {
		command.AppendNumber(reply, command.CollationRegexParam, bsonx.SaturatingInt64(p.Get()))
	}
	reply.End()
}

// inner parses the command body that the request r explains.
func inner(r *command.Request, body bsonx.Doc) (*command.Request, error) {
	first := body.First()
	e, ok := r.Service.Commands.ByName[string(first.Key)]
	if !ok || e.Status == feature.Absent {
		return nil, mongoerr.New(mongoerr.CommandNotFound, "Explain failed due to unknown command: %s", first.Key)
	}
	if db := body.Lookup("$db"); !db.IsMissing() && db.Type != bsonx.TypeString {
		return nil, mongoerr.New(mongoerr.Code(13111), "wrong type for field ($db) %s != string", db.Type)
	} else if db.Type == bsonx.TypeString && db.Str() != r.DB {
		return nil, mongoerr.New(mongoerr.InvalidNamespace,
			"Mismatched $db in explain command. Expected %s but got %s", r.DB, db.Str())
	}
	inner := &command.Request{
		Service: r.Service, Conn: r.Conn, Op: r.Op, Def: e.Definition, Name: string(first.Key),
		DB: r.DB, Body: body, Now: r.Now,
		Value: first.Value, Memory: new(command.Workspace), Explained: true, Explain: r,
	}
	return inner, dispatch.Parse(r.Service, e, inner)
}

// soleStatement parses the statement of an explained write command. More than one statement is an
// error.
func soleStatement[T any](req *command.Request, field string, parse func(doc bsonx.Doc) (T, error)) (T, error) {
	var none T
	specs, err := parseStatements(req, field, nil, parse)
	if err != nil {
		return none, err
	}
	if len(specs) > 1 {
		return none, mongoerr.New(mongoerr.InvalidLength, "explained write batches must be of size 1")
	}
	return specs[0], nil
}

// tried makes explain apply the update to documents without storing the result, so that explain
// reports the errors of the update. It returns ask unchanged for a time series.
func tried(ask *explain.Request, st *write.UpdateStatement) *explain.Request {
	if c := ask.Query.Coll; c != nil && c.Timeseries == nil {
		ask.Try, ask.TryUpsert = st.Try, st.TryUpsert
	}
	return ask
}

// writeQuery returns the query of a write command that is explained.
func writeQuery(r *command.Request, sc read.Scope, predicate, sort bsonx.Doc,
	hint, collation bsonx.Value,
) (*query.Query, error) {
	name, err := r.Collection()
	if err != nil {
		return nil, err
	}
	c, err := command.WriteTarget(r, r.DB, name)
	if err != nil {
		return nil, err
	}
	if sc, err = sc.Collated(collation, c); err != nil {
		return nil, err
	}
	f, err := sc.Filter(predicate)
	if err != nil {
		return nil, err
	}
	if c != nil && c.Timeseries != nil {
		return bucketQuery(r, c, sc, predicate, hint)
	}
	return &query.Query{
		DB: r.DB, Name: name, Coll: c, Filter: f, Collation: sc.Collation, CollationSpec: read.SpecOf(collation),
		Sort: sort, Hint: hint, AllowDiskUse: true,
	}, nil
}
