package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/plan"
)

func aggregateCommands() []Definition {
	return []Definition{{
		Name: "aggregate", Help: "Runs a pipeline over a collection.", Lacks: "an exchange with several consumers",
		InTransaction: true, Run: runAggregate, Parses: true, Read: true, TimedRead: true, Snapshot: true, Write: true, API1: true,
		Fields: []Field{
			{Name: "pipeline", Type: stageArray, Required: true},
			{Name: "cursor", Type: cursorObject, Fields: cursorFields},
			{Name: "explain", Type: Any, Check: checkExplainOption, Unstable: true},
			{Name: "allowDiskUse", Type: OptionalBool},
			{Name: "bypassDocumentValidation", Type: SafeBool},
			{Name: "hint", Type: Any},
			{Name: "let", Type: Object},
			{Name: "collation", Type: Object},
			{Name: "fromRouter", Type: OptionalBool},
			{Name: "needsMerge", Type: OptionalBool},
			{Name: "fromMongos", Type: OptionalBool},
			{Name: "isMapReduceCommand", Type: OptionalBool, Unstable: true},
			encryptionInformation,
			exchange,
			collectionUUID,
		},
	}}
}

func runAggregate(ctx context.Context, req *Request, reply *bsonx.Builder) error {
	if req.work != nil {
		if err := checkTransactionAggregate(req); err != nil {
			return err
		}
	}
	if req.Bool("explain") {
		return explainAggregate(ctx, req, plan.QueryPlanner, reply)
	}
	size, err := aggregateBatchSize(req)
	if err != nil {
		return err
	}
	if err := req.checkExchange(size); err != nil {
		return err
	}
	name, own, sc, err := req.checkAggregate()
	if err != nil {
		return err
	}
	if arg, ok := pipeline.IsChangeStream(req.Get("pipeline")); ok {
		return req.runChangeStream(ctx, sc, name, arg, size, reply)
	}
	return req.runStages(ctx, sc, name, own, size, reply)
}

func checkTransactionAggregate(req *Request) error {
	if req.Bool("explain") {
		return notInTransaction("Cannot run 'explain' in a multi-document transaction.")
	}
	return checkTransactionStages(req.Get("pipeline"))
}

// checkAggregate checks the arguments of an aggregate command that is run or explained, and
// compiles its stages.
func (r *Request) checkAggregate() (name string, own ownStages, sc scope, err error) {
	if name, err = r.aggregated(); err != nil {
		return "", own, scope{}, err
	}
	if err := checkHint(r.Get("hint")); err != nil {
		return "", own, scope{}, err
	}
	if sc, err = newScope(r); err != nil {
		return "", own, scope{}, err
	}
	if sc, err = sc.collated(r.Get("collation"), r.Service.Store.Lookup(r.DB, name)); err != nil {
		return "", own, scope{}, err
	}
	if err := checkStrictStages(r.Get("pipeline"), r.stableAPI()); err != nil {
		return "", own, scope{}, err
	}
	// The command's own stages are checked before a view adds its.
	top := pipeline.OverCollection
	if name == "" {
		top = pipeline.OverNothing
	}
	stages := r.Get("pipeline").Clone() // a cursor outlives the message
	own.list = elements(stages)
	if own.compiled, err = pipeline.Compile(stages, sc.pipelineOptions(r.DB, top)); err != nil {
		return "", own, scope{}, r.malformed(err)
	}
	if r.Has("needsMerge") && !r.Has("fromRouter") && !r.Has("fromMongos") {
		return "", own, scope{}, mongoerr.New(mongoerr.FailedToParse, "Cannot specify 'needsMerge' without 'fromRouter'")
	}
	r.Service.stats.operators.pipeline(stages)
	return name, own, sc, r.checkConcerns(stages)
}

// checkExplainOption requires a bool of aggregate's explain.
func checkExplainOption(_ string, v bsonx.Value) error {
	if v.Type != bsonx.TypeBool {
		return mongoerr.New(mongoerr.TypeMismatch, "explain must be a boolean")
	}
	return nil
}

// aggregated returns the collection that a pipeline is run over, empty for {aggregate: 1}.
func (r *Request) aggregated() (string, error) {
	v := r.CommandValue()
	if !v.Type.IsNumber() {
		name, err := r.Collection()
		if err == nil && name == noCollection {
			err = mongoerr.New(mongoerr.InvalidNamespace, "Invalid collection name specified '%s'", name)
		}
		return name, err
	}
	if n, ok := v.AsExactInt64(); !ok || n != 1 {
		return "", mongoerr.New(mongoerr.BadValue, "Invalid command format: the 'aggregate' field must specify a collection name or 1")
	}
	if r.Has(collectionUUID.Name) {
		return "", mongoerr.New(codeUUIDWithoutCollection, "collectionUUID is not supported for a collectionless aggregation")
	}
	return "", nil
}

const codeUUIDWithoutCollection = mongoerr.Code(4928901)

func aggregateBatchSize(req *Request) (int64, error) {
	cursor := req.Doc("cursor")
	if cursor == nil {
		return 0, mongoerr.New(mongoerr.FailedToParse, "The 'cursor' option is required, except for aggregate with the explain argument")
	}
	size := int64(defaultFirstBatch)
	err := ParseFields("cursor", cursor, cursorFields, func(_ int, v bsonx.Value) error {
		size = saturatingInt64(v)
		return nil
	})
	return size, err
}

// The types of fields of aggregate.
var (
	stageArray   = FieldType{types: []bsonx.Type{bsonx.TypeArray}, wrong: "A pipeline must be an array of objects"}
	cursorObject = FieldType{types: []bsonx.Type{bsonx.TypeDocument}, wrong: "cursor field must be missing or an object"}
)
