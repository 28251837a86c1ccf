package command

import (
	"context"
	"errors"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/retryable"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/update"
	"github.com/sheafdb/sheaf/internal/write"
)

func updateCommands() []Definition {
	return []Definition{{
		Name: "update", Help: "Changes, replaces or upserts documents.",
		InTransaction: true, Run: runUpdate, Parses: true, Write: true, Silent: true, Retryable: true, API1: true, Kind: "update", Counter: CountNone,
		Fields: []Field{
			{Name: "updates", Type: Array, Required: true, Sequence: true, Fields: updateFields},
			{Name: "ordered", Type: Bool},
			{Name: "bypassDocumentValidation", Type: SafeBool},
			{Name: "bypassEmptyTsReplacement", Type: OptionalBool, Unstable: true},
			{Name: "let", Type: Object},
			{Name: "stmtId", Type: Int},
			{Name: "stmtIds", Type: Array},
			collectionUUID,
			encryptionInformation,
			isTimeseriesNamespace,
		},
	}}
}

// updateFields are the fields of one statement of update.
var updateFields = []Field{
	{Name: "q", Type: Object, Required: true},
	{Name: "u", Required: true, Check: checkMods},
	{Name: "c", Type: Object},
	{Name: "arrayFilters", Type: Array},
	{Name: "hint", Type: Any},
	{Name: "multi", Type: Bool},
	{Name: "upsert", Type: Bool},
	{Name: "upsertSupplied", Type: OptionalBool},
	{Name: "collation", Type: Object},
	{Name: "sampleId", Type: BinData, Unstable: true},
	{Name: "sort", Type: Object, Unstable: true},
	{Name: "allowShardKeyUpdatesWithoutFullShardKeyInQuery", Type: SafeBool},
}

// checkMods requires a document or a pipeline of an update's modifications.
func checkMods(_ string, v bsonx.Value) error {
	if v.Type != bsonx.TypeDocument && v.Type != bsonx.TypeArray {
		return mongoerr.New(mongoerr.FailedToParse, "Update argument must be either an object or an array")
	}
	return nil
}

// arrayFiltersOf is the path of the array filters of a statement in messages.
const arrayFiltersOf = "update.updates.arrayFilters"

func parseUpdateSpec(doc bsonx.Doc) (updateSpec, error) {
	var s updateSpec
	err := ParseFields("update.updates", doc, updateFields, func(i int, v bsonx.Value) error {
		switch updateFields[i].Name {
		case "q":
			s.query = v.Doc()
		case "u":
			s.mods = v
			return checkStages(v)
		case "c":
			s.constants = v
		case "arrayFilters":
			s.arrayFilters = v
			_, err := docsOf(arrayFiltersOf, v)
			return err
		case "hint":
			s.hint = v
			return checkHint(v)
		case "multi":
			s.multi = v.Truthy()
		case "upsert":
			s.upsert = v.Truthy()
		case "upsertSupplied":
			s.supplied = v.Truthy()
		case "collation":
			s.collation = v
		case "sort":
			s.sort = v.Doc()
		}
		return nil
	})
	if err == nil && s.multi && s.sort != nil {
		err = errSortedMulti
	}
	return s, err
}

var errSortedMulti = mongoerr.New(mongoerr.FailedToParse, "Cannot specify sort with multi=true")

func runUpdate(ctx context.Context, req *Request, reply *bsonx.Builder) error {
	name, err := req.collectionName()
	if err != nil {
		return err
	}
	if err := catalog.CheckWrite(req.DB, name); err != nil {
		return err
	}
	specs, err := parseStatements(req, "updates", req.memory.updates, parseUpdateSpec)
	req.memory.updates = specs
	if err != nil {
		return err
	}
	if err := req.checkBuckets(name); err != nil {
		return err
	}
	sc, err := newStatementScope(req, name)
	if err != nil {
		return err
	}
	if err := req.readStatements(len(specs)); err != nil {
		return err
	}
	run := updateRun{req: req, scope: sc, name: name, opts: req.writeOptions()}
	run.opts = req.single(run.opts, len(specs) == 1 && !specs[0].multi)
	run.opts.Retry.Of(retryable.Update)
	tried := 0
	for i := range specs {
		tried++
		run.one(ctx, i, &specs[i])
		if run.fatal != nil {
			return run.fatal
		}
		if len(run.errors.items) > 0 && run.opts.Ordered {
			break
		}
	}
	req.count(CountUpdate, int64(tried))
	run.report(reply)
	return nil
}

// parseStatements parses the statements of a write command before any of them runs. It appends them to out, which is
// empty.
func parseStatements[T any](req *Request, field string, out []T, parse func(doc bsonx.Doc) (T, error)) ([]T, error) {
	n := req.DocumentCount(field)
	if err := checkBatch(n); err != nil {
		return out, req.malformed(err)
	}
	out = slices.Grow(out, n)
	err := req.Documents(field, func(_ int, doc bsonx.Doc) error {
		if err := req.checkStrictStatement(field, doc); err != nil {
			return err
		}
		s, err := parse(doc)
		out = append(out, s)
		return err
	})
	return out, req.malformed(err)
}

// updateRun executes the statements of an update command.
type updateRun struct {
	req      *Request
	scope    scope
	name     string
	opts     write.Options
	n        int64
	modified int64
	upserted []upserted
	errors   writeErrors
	fatal    error
}

type upserted struct {
	index int
	id    bsonx.Value
}

func (r *updateRun) one(ctx context.Context, i int, spec *updateSpec) {
	spec.position = i
	res, err := r.req.runUpdateSpec(ctx, r.scope, r.req.DB, r.name, spec, r.opts)
	if err != nil {
		// What a failed statement has changed is not counted, as in MongoDB.
		if endsCommand(err) {
			r.fatal = err
		} else {
			r.errors.add(i, err)
		}
		return
	}
	r.n += res.Matched
	r.modified += res.Modified
	if !res.UpsertedID.IsMissing() {
		r.n++
		r.upserted = append(r.upserted, upserted{i, res.UpsertedID})
	}
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
	r.req.appendWriteErrors(reply, &r.errors)
	reply.Int32("nModified", int32(r.modified))
	r.req.appendRetried(reply)
}

// runUpdateSpec compiles and runs one update statement.
func (r *Request) runUpdateSpec(ctx context.Context, sc scope, db, name string, spec *updateSpec, opts write.Options) (write.UpdateResult, error) {
	if rec := r.executed(spec.position); rec != nil {
		return updateRetried(rec)
	}
	if err := r.checkRetryOfMany(spec.multi); err != nil {
		return write.UpdateResult{}, err
	}
	if c := r.Service.seriesOf(db, name); c != nil {
		return r.updateSeries(ctx, c, sc, spec, opts)
	}
	c, err := r.reads().lookup(db, name)
	if err != nil {
		return write.UpdateResult{}, err
	}
	counted := r.Op.Memory.Begin()
	defer counted.Release()
	st := &r.memory.statement
	if err := r.compileUpdate(sc, c, spec, st); err != nil {
		return write.UpdateResult{}, err
	}
	res, err := r.runUpdateStatement(ctx, db, name, st, meantFor(c, spec.collation), opts)
	if isReplaced(err) {
		return r.runUpdateSpec(ctx, sc, db, name, spec, opts)
	}
	return res, err
}

// errBecameSeries ends a statement on a collection that is, by now, the buckets of a time series.
var errBecameSeries = mongoerr.New(mongoerr.ConflictingOperationInProgress, "the collection was replaced by a time series")

// errOtherCollation ends a statement whose collection was replaced, after the statement was compiled, by one with another default
// collation.
var errOtherCollation = mongoerr.New(mongoerr.ConflictingOperationInProgress, "the collection was replaced by one with another collation")

// isReplaced reports whether a statement, which did nothing, must be compiled again for another collection.
func isReplaced(err error) bool {
	return errors.Is(err, errBecameSeries) || errors.Is(err, errOtherCollation)
}

// compiledFor tells which collections a compiled statement may run on. A rename can swap two collections between the two.
type compiledFor struct {
	// coll is the collection whose default collation the statement has, nil for none.
	coll *table.Collection
	// any says that the statement has a collation of its own.
	any bool
}

// meantFor returns what a statement that was compiled for c, which may be nil, may run on.
func meantFor(c *table.Collection, own bsonx.Value) compiledFor {
	return compiledFor{coll: c, any: own.Type == bsonx.TypeDocument && !own.Doc().IsEmpty()}
}

// fits reports whether a statement on c has c's default collation, unless it has one of its own. The buckets of a time series have
// the collation of their view.
func (f compiledFor) fits(c *table.Collection) bool {
	was := f.coll
	switch {
	case f.any, was == c:
		return true
	case was == nil:
		return c.Collation == nil
	case c.Timeseries != nil:
		return was.Kind == catalog.KindTimeseries || was.Timeseries != nil
	}
	return was.Collation.Same(c.Collation)
}

// runUpdateStatement runs a statement on a collection that may not exist yet, or not any more.
func (r *Request) runUpdateStatement(ctx context.Context, db, name string, st *write.UpdateStatement, meant compiledFor, opts write.Options) (write.UpdateResult, error) {
	for {
		c, err := r.writable(db, name)
		if err != nil {
			return write.UpdateResult{}, err
		}
		if c == nil {
			if !st.Upsert {
				return write.UpdateResult{}, checkWithout(db, name, st.Filter, st.Hint)
			}
			if c, err = r.ensure(db, name); err != nil {
				return write.UpdateResult{}, err
			}
		}
		if c.Timeseries != nil {
			return write.UpdateResult{}, errBecameSeries
		}
		if !meant.fits(c) {
			return write.UpdateResult{}, errOtherCollation
		}
		st.Coll = c
		res, err := r.Service.Writes.Update(ctx, st, opts)
		if !errors.Is(err, table.ErrDropped) {
			return res, executingWrite(r.writeKind("update"), err)
		}
	}
}

// compileUpdate turns a specification into a statement on c, which may be nil.
func (r *Request) compileUpdate(sc scope, c *table.Collection, spec *updateSpec, st *write.UpdateStatement) error {
	if sc.mistake != nil {
		return sc.mistake
	}
	if err := checkSort(spec.sort); err != nil {
		return err
	}
	sc, err := sc.collated(spec.collation, c)
	if err != nil {
		return err
	}
	arrayFilters, err := docsOf(arrayFiltersOf, spec.arrayFilters)
	if err != nil {
		return err
	}
	if spec.constants.Type == bsonx.TypeDocument {
		if spec.mods.Type != bsonx.TypeArray {
			return mongoerr.New(mongoerr.Code(51198), "Constant values may only be specified for pipeline updates")
		}
		if sc.vars, err = sc.vars.WithConstants(spec.constants.Doc()); err != nil {
			return err
		}
	}
	if spec.mods.Type == bsonx.TypeArray && !spec.arrayFilters.IsMissing() {
		return mongoerr.New(mongoerr.FailedToParse, "arrayFilters may not be specified for pipeline-style updates")
	}
	r.memory.scope = sc
	u, err := update.Parse(spec.mods, update.Options{
		ArrayFilters: arrayFilters, Compiler: &r.memory.scope, Compare: sc.compare(), Running: sc.vars.Scripts().Running,
	})
	if err != nil {
		return err
	}
	if err := spec.check(u); err != nil {
		return err
	}
	f, err := sc.statementFilter(spec)
	if err != nil {
		return err
	}
	if err := plan.CheckSortMeta(spec.sort, f); err != nil {
		return err
	}
	if u.NeedsMatchedIndex() {
		f = f.Normalize() // which decides the array element that matched
	}
	*st = write.UpdateStatement{
		Query:     write.Query{Filter: f, Sort: spec.sort, Hint: spec.hint, Collation: specOf(spec.collation), One: !spec.multi, Position: spec.position},
		RawFilter: spec.query, Update: u, Upsert: spec.upsert, Env: r.env(sc.vars),
	}
	if spec.supplied {
		st.Supplied, err = spec.suppliedDoc(r.insertTime())
	}
	return err
}

// statementFilter compiles the query of an update.
func (s scope) statementFilter(spec *updateSpec) (*filter.Filter, error) {
	if spec.upsert {
		return s.filterForUpsert(spec.query)
	}
	return s.filter(spec.query)
}

// suppliedDoc returns the document that an upsert with upsertSupplied inserts.
func (s *updateSpec) suppliedDoc(nextTime func() (t, i uint32)) (bsonx.Doc, error) {
	if !s.upsert {
		return nil, mongoerr.New(mongoerr.FailedToParse, "cannot specify 'upsertSupplied: true' for a non-upsert operation")
	}
	if s.constants.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "the parameter 'upsertSupplied' is set to 'true', but no document was supplied")
	}
	doc := s.constants.Doc().Lookup("new")
	if doc.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "the parameter 'c' must have a document field 'new' when 'upsertSupplied' is true")
	}
	return update.PrepareInsert(doc.Doc(), nil, nextTime)
}

// checkStageTypes requires that the stages of a pipeline are documents.
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

// checkStages refuses a pipeline whose stages are malformed or unknown before any statement runs; what the stages say is
// judged statement by statement.
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
		if name := string(v.Doc().First().Key); !pipeline.IsStage(name) {
			return mongoerr.New(mongoerr.Code(40324), "Unrecognized pipeline stage name: '%s'", name)
		}
	}
	return nil
}

// check refuses combinations of options.
func (s *updateSpec) check(u *update.Update) error {
	if s.multi && u.Kind() == update.KindReplacement {
		return mongoerr.New(mongoerr.FailedToParse, "multi update is not supported for replacement-style update")
	}
	if s.multi && !s.sort.IsEmpty() {
		return errSortedMulti
	}
	return nil
}
