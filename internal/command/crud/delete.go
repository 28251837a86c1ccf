package crud

import (
	"context"
	"math"
	"strconv"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/retryable"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/write"
)

// DeleteCommands returns the definition of delete.
func DeleteCommands() []command.Definition {
	return []command.Definition{{
		Name: "delete", Help: "Removes documents.",
		Properties: command.Properties{
			Writes: feature.Yes, Transactions: feature.Yes, StableAPI: feature.Yes, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Run: runDelete, Explain: explainPlan(explainDelete),
		Parses: true, Silent: true, Retryable: true, Kind: "remove", Counter: command.CountNone,
		Latency: table.LatencyWrites, Traffic: table.TrafficRemove,
		Fields: append([]command.Field{
			{Name: "deletes", Type: command.Array, Required: true, Sequence: true, Fields: deleteFields},
			{Name: "ordered", Type: command.Bool},
			{Name: "let", Type: command.Object},
			{Name: "bypassDocumentValidation", Type: command.SafeBool},
		}, statementFields...),
	}}
}

// deleteFields are the fields of one statement of delete.
var deleteFields = []command.Field{
	{Name: "q", Type: command.Object, Required: true},
	{Name: "limit", Type: command.Any, Required: true},
	{Name: "hint", Type: command.Any},
	{Name: "collation", Type: command.Object},
	{Name: "sampleId", Type: command.BinData, Unstable: true},
}

// deleteSpec is a statement of delete or bulkWrite that is parsed but not compiled.
type deleteSpec struct {
	query     bsonx.Doc
	hint      bsonx.Value
	collation bsonx.Value
	multi     bool
	// position is the index of the statement in the command.
	position int
}

func parseDeleteSpec(doc bsonx.Doc) (deleteSpec, error) {
	var s deleteSpec
	err := command.ParseFields("delete.deletes", doc, deleteFields, func(i int, v bsonx.Value) error {
		switch deleteFields[i].Name {
		case "q":
			s.query = v.Doc()
		case "limit":
			return s.setLimit(v)
		case "hint":
			s.hint = v
			return read.CheckHint(v)
		case "collation":
			s.collation = v
		}
		return nil
	})
	return s, err
}

// shortNumber formats a number as a double with 6 significant digits, as in MongoDB's error message
// for an invalid limit.
func shortNumber(v bsonx.Value) string {
	f, _ := v.AsFloat64()
	if math.IsNaN(f) {
		return "nan"
	}
	return strconv.FormatFloat(f, 'g', 6, 64)
}

// setLimit sets multi from limit, which may be 0 (delete all) or 1. Values that are not numbers
// count as 0, as in MongoDB.
func (s *deleteSpec) setLimit(v bsonx.Value) error {
	n, ok := v.AsExactInt64()
	if v.Type.IsNumber() && (!ok || n != 0 && n != 1) {
		return mongoerr.New(mongoerr.FailedToParse,
			"The limit field in delete objects must be 0 or 1. Got %s", shortNumber(v))
	}
	s.multi = n == 0
	return nil
}

func runDelete(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	name, specs, sc, err := prepareStatements(req, "deletes", nil, parseDeleteSpec)
	if err != nil {
		return err
	}
	opts := singleCommit(req, writeOptions(req), len(specs) == 1 && !specs[0].multi)
	opts.Retry.Of(retryable.Delete)
	var total int64
	var failures writeErrors
	tried, err := eachStatement(len(specs), opts.Ordered, &failures, func(i int) error {
		specs[i].position = i
		n, err := runDeleteSpec(ctx, req, sc, req.DB, name, &specs[i], opts)
		total += n
		return err
	})
	if err != nil {
		return err
	}
	req.Count(command.CountDelete, int64(tried))
	req.Op.Debug.Deleted(total)
	reply.Int32("n", int32(total))
	appendWriteErrors(req, reply, &failures)
	appendRetried(req, reply)
	return nil
}

// runDeleteSpec compiles and runs one delete statement and returns the number of deleted documents.
// If the collection is replaced meanwhile, the statement is compiled and run again.
func runDeleteSpec(ctx context.Context, r *command.Request, sc read.Scope, db, name string, spec *deleteSpec,
	opts write.Options,
) (int64, error) {
	retried := func(*retryable.Record) (int64, error) { return 1, nil }
	return runSpec(r, spec.position, spec.multi, retried, func() (int64, error) {
		return tryDeleteSpec(ctx, r, sc, db, name, spec, opts)
	})
}

func tryDeleteSpec(ctx context.Context, r *command.Request, sc read.Scope, db, name string, spec *deleteSpec,
	opts write.Options,
) (int64, error) {
	if sc.Mistake != nil {
		return 0, sc.Mistake
	}
	c, err := r.Reads().Lookup(db, name)
	if err != nil {
		return 0, err
	}
	collated, err := sc.Collated(spec.collation, c)
	if err != nil {
		return 0, err
	}
	counted := r.Op.Memory.Begin()
	defer counted.Release()
	f, err := collated.Filter(spec.query)
	if err != nil {
		return 0, err
	}
	st := &write.DeleteStatement{Query: write.Query{
		Filter: f, Hint: spec.hint, Collation: read.SpecOf(spec.collation),
		One: !spec.multi, Position: spec.position,
	}}
	return runDeleteStatement(ctx, r, db, name, st, meantFor(c, spec.collation), spec.query, opts)
}

// runDeleteStatement runs a compiled delete, as runCompiled describes it.
func runDeleteStatement(
	ctx context.Context, r *command.Request, db, name string, st *write.DeleteStatement, meant compiledFor,
	query bsonx.Doc, opts write.Options,
) (int64, error) {
	s := compiled{req: r, db: db, name: name, kind: "delete", query: &st.Query, meant: meant}
	return runCompiled(s, func(c *table.Collection) (int64, error) {
		if c.Timeseries != nil {
			return deleteMeasurements(ctx, r, c, st, query, opts)
		}
		return r.Service.Writes.Delete(ctx, st, opts)
	})
}

func explainDelete(req *command.Request) (*explain.Request, error) {
	spec, err := soleStatement(req, "deletes", parseDeleteSpec)
	if err != nil {
		return nil, err
	}
	sc, err := command.NewScope(req)
	if err != nil {
		return nil, err
	}
	q, err := writeQuery(req, sc, spec.query, nil, spec.hint, spec.collation)
	return &explain.Request{Query: q, Command: explain.Delete, Multi: spec.multi}, err
}
