package crud

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/retryable"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/update"
	"github.com/sheafdb/sheaf/internal/write"
)

// UpdateCommands returns the definition of update.
func UpdateCommands() []command.Definition {
	return []command.Definition{{
		Name: "update", Help: "Changes, replaces or upserts documents.",
		Properties: command.Properties{
			Writes: feature.Yes, Transactions: feature.Yes, StableAPI: feature.Yes, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Run: runUpdate, Explain: explainPlan(explainUpdate),
		Parses: true, Silent: true, Retryable: true, Kind: "update", Counter: command.CountNone,
		Latency: table.LatencyWrites, Traffic: table.TrafficUpdate,
		Fields: append([]command.Field{
			{Name: "updates", Type: command.Array, Required: true, Sequence: true, Fields: updateFields},
			{Name: "ordered", Type: command.Bool},
			{Name: "bypassDocumentValidation", Type: command.SafeBool},
			{Name: "bypassEmptyTsReplacement", Type: command.OptionalBool, Unstable: true},
			{Name: "let", Type: command.Object},
		}, statementFields...),
	}}
}

// updateFields are the fields of one statement of update.
var updateFields = []command.Field{
	{Name: "q", Type: command.Object, Required: true},
	{Name: "u", Required: true, Check: checkMods},
	{Name: "c", Type: command.Object},
	{Name: "arrayFilters", Type: command.Array},
	{Name: "hint", Type: command.Any},
	{Name: "multi", Type: command.Bool},
	{Name: "upsert", Type: command.Bool},
	{Name: "upsertSupplied", Type: command.OptionalBool},
	{Name: "collation", Type: command.Object},
	{Name: "sampleId", Type: command.BinData, Unstable: true},
	{Name: "sort", Type: command.Object, Unstable: true},
	{Name: "allowShardKeyUpdatesWithoutFullShardKeyInQuery", Type: command.SafeBool},
}

// checkMods returns an error unless the modifications of an update are a document or an array.
func checkMods(_ string, v bsonx.Value) error {
	if v.Type != bsonx.TypeDocument && v.Type != bsonx.TypeArray {
		return mongoerr.New(mongoerr.FailedToParse, "Update argument must be either an object or an array")
	}
	return nil
}

// arrayFiltersOf is the path of a statement's array filters in error messages.
const arrayFiltersOf = "update.updates.arrayFilters"

func parseUpdateSpec(doc bsonx.Doc) (command.UpdateSpec, error) {
	var s command.UpdateSpec
	err := command.ParseFields("update.updates", doc, updateFields, func(i int, v bsonx.Value) error {
		switch updateFields[i].Name {
		case "q":
			s.Query = v.Doc()
		case "u":
			s.Mods = v
			return checkStages(v)
		case "c":
			s.Constants = v
		case "arrayFilters":
			s.ArrayFilters = v
			_, err := command.DocsOf(arrayFiltersOf, v)
			return err
		case "hint":
			s.Hint = v
			return read.CheckHint(v)
		case "multi":
			s.Multi = v.Truthy()
		case "upsert":
			s.Upsert = v.Truthy()
		case "upsertSupplied":
			s.Supplied = v.Truthy()
		case "collation":
			s.Collation = v
		case "sort":
			s.Sort = v.Doc()
		}
		return nil
	})
	if err == nil && s.Multi && s.Sort != nil {
		err = errSortedMulti
	}
	return s, err
}

var errSortedMulti = mongoerr.New(mongoerr.FailedToParse, "Cannot specify sort with multi=true")

func runUpdate(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	name, specs, sc, err := prepareStatements(req, "updates", req.Memory.Updates, parseUpdateSpec)
	req.Memory.Updates = specs
	if err != nil {
		return err
	}
	run := updateRun{req: req, scope: sc, name: name, opts: writeOptions(req)}
	run.opts = singleCommit(req, run.opts, len(specs) == 1 && !specs[0].Multi)
	run.opts.Retry.Of(retryable.Update)
	tried, err := eachStatement(len(specs), run.opts.Ordered, &run.errors, func(i int) error {
		return run.one(ctx, i, &specs[i])
	})
	if err != nil {
		return err
	}
	req.Count(command.CountUpdate, int64(tried))
	run.report(reply)
	return nil
}

// updateRun is the state of a running update command.
type updateRun struct {
	req      *command.Request
	scope    read.Scope
	name     string
	opts     write.Options
	n        int64
	modified int64
	upserted []upserted
	errors   writeErrors
}

type upserted struct {
	index int
	id    bsonx.Value
}

// one runs a statement. As in MongoDB, the changes of a failed statement are not counted.
func (r *updateRun) one(ctx context.Context, i int, spec *command.UpdateSpec) error {
	spec.Position = i
	res, err := runUpdateSpec(ctx, r.req, r.scope, r.req.DB, r.name, spec, r.opts)
	if err != nil {
		return err
	}
	r.n += res.Matched
	r.modified += res.Modified
	if !res.UpsertedID.IsMissing() {
		r.n++
		r.upserted = append(r.upserted, upserted{i, res.UpsertedID})
	}
	return nil
}

func (r *updateRun) report(reply *bsonx.Builder) {
	upserts := int64(len(r.upserted))
	r.req.Op.Debug.Updated(r.n-upserts, r.modified, upserts)
	reply.Int32("n", int32(r.n))
	if len(r.upserted) > 0 {
		reply.StartArrayField("upserted")
		for _, u := range r.upserted {
			reply.StartDocElem()
			reply.Int32("index", int32(u.index))
			reply.Value("_id", u.id)
			reply.End()
		}
		reply.End()
	}
	appendWriteErrors(r.req, reply, &r.errors)
	reply.Int32("nModified", int32(r.modified))
	appendRetried(r.req, reply)
}

// runUpdateSpec compiles and runs one update statement. If the collection is replaced meanwhile,
// the statement is compiled and run again.
func runUpdateSpec(ctx context.Context, r *command.Request, sc read.Scope, db, name string, spec *command.UpdateSpec,
	opts write.Options,
) (write.UpdateResult, error) {
	return runSpec(r, spec.Position, spec.Multi, updateRetried, func() (write.UpdateResult, error) {
		return tryUpdateSpec(ctx, r, sc, db, name, spec, opts)
	})
}

func tryUpdateSpec(ctx context.Context, r *command.Request, sc read.Scope, db, name string, spec *command.UpdateSpec,
	opts write.Options,
) (write.UpdateResult, error) {
	if c := seriesOf(r.Service, db, name); c != nil {
		return updateSeries(ctx, r, c, sc, spec, opts)
	}
	c, err := r.Reads().Lookup(db, name)
	if err != nil {
		return write.UpdateResult{}, err
	}
	counted := r.Op.Memory.Begin()
	defer counted.Release()
	st := &r.Memory.Statement
	if err := compileUpdate(r, sc, c, spec, st); err != nil {
		return write.UpdateResult{}, err
	}
	return runUpdateStatement(ctx, r, db, name, st, meantFor(c, spec.Collation), opts)
}

// runUpdateStatement runs a compiled update, as runCompiled describes it. It creates the collection
// for an upsert.
func runUpdateStatement(
	ctx context.Context, r *command.Request, db, name string, st *write.UpdateStatement, meant compiledFor,
	opts write.Options,
) (write.UpdateResult, error) {
	s := compiled{req: r, db: db, name: name, kind: "update", query: &st.Query, meant: meant, upsert: st.Upsert}
	return runCompiled(s, func(c *table.Collection) (write.UpdateResult, error) {
		if c.Timeseries != nil {
			return write.UpdateResult{}, errReplaced
		}
		return r.Service.Writes.Update(ctx, st, opts)
	})
}

// compileUpdate compiles the update spec into st, for the collection c, which may be nil.
func compileUpdate(r *command.Request, sc read.Scope, c *table.Collection, spec *command.UpdateSpec,
	st *write.UpdateStatement,
) error {
	if sc.Mistake != nil {
		return sc.Mistake
	}
	if err := CheckSort(spec.Sort); err != nil {
		return err
	}
	sc, err := sc.Collated(spec.Collation, c)
	if err != nil {
		return err
	}
	arrayFilters, err := command.DocsOf(arrayFiltersOf, spec.ArrayFilters)
	if err != nil {
		return err
	}
	if spec.Constants.Type == bsonx.TypeDocument {
		if spec.Mods.Type != bsonx.TypeArray {
			return mongoerr.New(mongoerr.Code(51198), "Constant values may only be specified for pipeline updates")
		}
		if sc.Vars, err = sc.Vars.WithConstants(spec.Constants.Doc()); err != nil {
			return err
		}
	}
	if spec.Mods.Type == bsonx.TypeArray && !spec.ArrayFilters.IsMissing() {
		return mongoerr.New(mongoerr.FailedToParse, "arrayFilters may not be specified for pipeline-style updates")
	}
	r.Memory.Scope = sc
	u, err := update.Parse(spec.Mods, update.Options{
		ArrayFilters: arrayFilters, Compiler: &r.Memory.Scope, Compare: sc.Compare(),
		Running: sc.Vars.Scripts().Running,
	})
	if err != nil {
		return err
	}
	if err := check(spec, u); err != nil {
		return err
	}
	f, err := statementFilter(sc, spec)
	if err != nil {
		return err
	}
	if err := query.CheckSortMeta(spec.Sort, f); err != nil {
		return err
	}
	if u.NeedsMatchedIndex() {
		f = f.Normalize() // the normal form decides which array element counts as matched
	}
	*st = write.UpdateStatement{
		Query: write.Query{
			Filter: f, Sort: spec.Sort, Hint: spec.Hint, Collation: read.SpecOf(spec.Collation),
			One: !spec.Multi, Position: spec.Position,
		},
		RawFilter: spec.Query, Update: u, Upsert: spec.Upsert, Env: updateEnv(r, sc.Vars),
	}
	if spec.Supplied {
		st.Supplied, err = suppliedDoc(spec, insertTime(r))
	}
	return err
}

// statementFilter compiles the query of an update or upsert.
func statementFilter(s read.Scope, spec *command.UpdateSpec) (*filter.Filter, error) {
	if spec.Upsert {
		return s.FilterForUpsert(spec.Query)
	}
	return s.Filter(spec.Query)
}

// suppliedDoc returns the document that an upsert with upsertSupplied: true inserts.
func suppliedDoc(s *command.UpdateSpec, nextTime func() (t, i uint32)) (bsonx.Doc, error) {
	if !s.Upsert {
		return nil, mongoerr.New(mongoerr.FailedToParse, "cannot specify 'upsertSupplied: true' for a non-upsert operation")
	}
	if s.Constants.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "the parameter 'upsertSupplied' is set to 'true', but no document was supplied")
	}
	doc := s.Constants.Doc().Lookup("new")
	if doc.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "the parameter 'c' must have a document field 'new' when 'upsertSupplied' is true")
	}
	return update.PrepareInsert(doc.Doc(), nil, nextTime)
}

// checkStageTypes returns an error if a stage of a pipeline is not a document.
func checkStageTypes(mods bsonx.Value) error {
	if mods.Type != bsonx.TypeArray {
		return nil
	}
	for it := mods.Doc().Iter(); it.Next(); {
		if it.Value().Type != bsonx.TypeDocument {
			return mongoerr.New(mongoerr.TypeMismatch, "Each element of the 'pipeline' array must be an object")
		}
	}
	return nil
}

// checkStages returns an error if a stage of a pipeline is malformed or has an unknown name. It
// runs before the first statement; the arguments of stages are checked per statement.
func checkStages(mods bsonx.Value) error {
	if mods.Type != bsonx.TypeArray {
		return nil
	}
	for it := mods.Doc().Iter(); it.Next(); {
		v := it.Value()
		if v.Type != bsonx.TypeDocument {
			return mongoerr.New(mongoerr.TypeMismatch, "Each element of the 'pipeline' array must be an object")
		}
		if v.Doc().Len() != 1 {
			return mongoerr.New(mongoerr.Code(40323), "A pipeline stage specification object must contain exactly one field.")
		}
		if name := string(v.Doc().First().Key); pipeline.Find(name) == nil {
			return mongoerr.New(mongoerr.Code(40324), "Unrecognized pipeline stage name: '%s'", name)
		}
	}
	return nil
}

// check returns an error for options that contradict the kind of update.
func check(s *command.UpdateSpec, u *update.Update) error {
	if s.Multi && u.Kind() == update.KindReplacement {
		return mongoerr.New(mongoerr.FailedToParse, "multi update is not supported for replacement-style update")
	}
	if s.Multi && !s.Sort.IsEmpty() {
		return errSortedMulti
	}
	return nil
}

func explainUpdate(req *command.Request) (*explain.Request, error) {
	spec, err := soleStatement(req, "updates", parseUpdateSpec)
	if err != nil {
		return nil, err
	}
	name, err := req.Collection()
	if err != nil {
		return nil, err
	}
	sc, err := command.NewScope(req)
	if err != nil {
		return nil, err
	}
	c, err := req.Lookup(name)
	if err != nil {
		return nil, err
	}
	st := new(write.UpdateStatement)
	if err := compileUpdate(req, sc, c, &spec, st); err != nil {
		return nil, err
	}
	q, err := writeQuery(req, sc, spec.Query, spec.Sort, spec.Hint, spec.Collation)
	if err != nil {
		return nil, err
	}
	return tried(&explain.Request{Query: q, Command: explain.Update, Multi: spec.Multi, Upsert: spec.Upsert}, st), nil
}
