package crud

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/table"
)

// AggregateCommands returns the definition of aggregate.
func AggregateCommands() []command.Definition {
	return []command.Definition{{
		Name: "aggregate", Help: "Runs a pipeline over a collection.", Lacks: "an exchange with several consumers",
		Properties: command.Properties{
			Writes: feature.Yes, Transactions: feature.Yes, StableAPI: feature.Yes, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Run: runAggregate, Explain: explainAggregateCommand, Parses: true, Read: true, TimedRead: true, Snapshot: true,
		Latency: table.LatencyReads,
		Fields: []command.Field{
			{Name: "pipeline", Type: stageArray, Required: true},
			{Name: "cursor", Type: cursorObject, Fields: command.CursorFields},
			{Name: "explain", Type: command.Any, Check: checkExplainOption, Unstable: true},
			{Name: "allowDiskUse", Type: command.OptionalBool},
			{Name: "bypassDocumentValidation", Type: command.SafeBool},
			{Name: "hint", Type: command.Any},
			{Name: "let", Type: command.Object},
			{Name: "collation", Type: command.Object},
			{Name: "fromRouter", Type: command.OptionalBool},
			{Name: "needsMerge", Type: command.OptionalBool},
			{Name: "fromMongos", Type: command.OptionalBool},
			{Name: "isMapReduceCommand", Type: command.OptionalBool, Unstable: true},
			encryptionInformation,
			exchange,
			command.CollectionUUID,
		},
	}}
}

func runAggregate(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	if req.Work != nil {
		if err := checkTransactionAggregate(req); err != nil {
			return err
		}
	}
	if req.Bool("explain") {
		return explainAggregate(ctx, req, explain.QueryPlanner, reply)
	}
	size, err := aggregateBatchSize(req)
	if err != nil {
		return err
	}
	if err := checkExchange(req, size); err != nil {
		return err
	}
	name, own, sc, err := checkAggregate(req)
	if err != nil {
		return err
	}
	if arg, ok := pipeline.IsChangeStream(req.Get("pipeline")); ok {
		return runChangeStream(ctx, req, sc, name, arg, size, reply)
	}
	return runStages(ctx, req, sc, name, own, size, reply)
}

func checkTransactionAggregate(req *command.Request) error {
	if req.Bool("explain") {
		return command.NotInTransaction("Cannot run 'explain' in a multi-document transaction.")
	}
	return command.CheckTransactionStages(req.Get("pipeline"))
}

// checkAggregate checks the arguments of an aggregate command, which is run or explained, and
// compiles its stages.
func checkAggregate(r *command.Request) (name string, own read.OwnStages, sc read.Scope, err error) {
	if name, err = aggregated(r); err != nil {
		return "", own, read.Scope{}, err
	}
	if err := read.CheckHint(r.Get("hint")); err != nil {
		return "", own, read.Scope{}, err
	}
	if sc, err = collatedScope(r, name); err != nil {
		return "", own, read.Scope{}, err
	}
	if err := command.CheckStrictStages(r.Get("pipeline"), r.StableAPI()); err != nil {
		return "", own, read.Scope{}, err
	}
	// The command's own stages are compiled here, before the stages of a view are added.
	top := parsing.OverCollection
	if name == "" {
		top = parsing.OverNothing
	}
	stages := r.Get("pipeline").Clone() // a cursor may keep the stages after the request's bytes are reused
	own.List = read.Elements(stages)
	if own.Compiled, err = pipeline.Compile(stages, sc.PipelineOptions(r.DB, top)); err != nil {
		return "", own, read.Scope{}, r.Malformed(err)
	}
	if r.Has("needsMerge") && !r.Has("fromRouter") && !r.Has("fromMongos") {
		return "", own, read.Scope{},
			mongoerr.New(mongoerr.FailedToParse, "Cannot specify 'needsMerge' without 'fromRouter'")
	}
	r.Service.Read.Operators.Pipeline(stages)
	return name, own, sc, CheckConcerns(r, stages)
}

// checkExplainOption returns an error if aggregate's argument explain is not a boolean.
func checkExplainOption(_ string, v bsonx.Value) error {
	if v.Type != bsonx.TypeBool {
		return mongoerr.New(mongoerr.TypeMismatch, "explain must be a boolean")
	}
	return nil
}

// aggregated returns the collection that a pipeline reads, or "" for {aggregate: 1}.
func aggregated(r *command.Request) (string, error) {
	v := r.CommandValue()
	if !v.Type.IsNumber() {
		name, err := r.Collection()
		if err == nil && name == read.NoCollection {
			err = mongoerr.New(mongoerr.InvalidNamespace, "Invalid collection name specified '%s'", name)
		}
		return name, err
	}
	if n, ok := v.AsExactInt64(); !ok || n != 1 {
		return "", mongoerr.New(mongoerr.BadValue, "Invalid command format: the 'aggregate' field must specify a collection name or 1")
	}
	if r.Has(command.CollectionUUID.Name) {
		return "", mongoerr.New(codeUUIDWithoutCollection, "collectionUUID is not supported for a collectionless aggregation")
	}
	return "", nil
}

const codeUUIDWithoutCollection = mongoerr.Code(4928901)

func aggregateBatchSize(req *command.Request) (int64, error) {
	cursor := req.Doc("cursor")
	if cursor == nil {
		return 0, mongoerr.New(mongoerr.FailedToParse, "The 'cursor' option is required, except for aggregate with the explain argument")
	}
	size := int64(limits.FirstBatch)
	err := command.ParseFields("cursor", cursor, command.CursorFields, func(_ int, v bsonx.Value) error {
		size = bsonx.SaturatingInt64(v)
		return nil
	})
	return size, err
}

// The types of fields that only aggregate has.
var (
	stageArray = command.FieldType{
		Types: []bsonx.Type{bsonx.TypeArray},
		Wrong: "A pipeline must be an array of objects",
	}
	cursorObject = command.FieldType{
		Types: []bsonx.Type{bsonx.TypeDocument},
		Wrong: "cursor field must be missing or an object",
	}
)
