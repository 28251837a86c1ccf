package command

import (
	"errors"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/projection"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/update"
	"github.com/sheafdb/sheaf/internal/write"
)

// This file holds what the commands that read and write documents have in common.

// scope is what the filters, projections and updates of one command are compiled with.
type scope struct {
	vars *expr.Vars
	now  time.Time
	// collation is nil where strings are compared as bytes.
	collation *collation.Collator
	// simple says that the command asks for the comparison of bytes itself.
	simple bool
	// collations are those that were used before.
	collations *collation.Cache
	// mistake is what is wrong with let, where that is an error of the statements; see newStatementScope.
	mistake error
	// operators counts what queries are made of; nil counts nothing.
	operators *operatorCounts
	// writes says that the command is a write, whose queries for one _id are not counted, as in MongoDB.
	writes bool
	// hint is what a sort by $natural on a view becomes; missing where the command's own hint counts.
	hint bsonx.Value
}

// newScope reads the command's let.
func newScope(req *Request) (scope, error) {
	vars := req.baseVars()
	if req.stableAPI().APIStrict == boolTrue {
		vars = vars.WithStableAPI()
		if err := checkStrictSort(req.Doc("sort"), vars); err != nil {
			return scope{}, err
		}
	}
	vars, err := vars.WithLet(req.Doc("let"), req.Now)
	sc := scope{now: req.Now, vars: vars, collations: &req.Service.collations, operators: &req.Service.stats.operators}
	switch req.Def.Name {
	case "insert", "update", "delete", "findAndModify", "bulkWrite":
		sc.writes = true
	case "count", "distinct": // as in MongoDB
		sc.operators = nil
	}
	return sc, err
}

// newStatementScope is newScope for a command of statements: a mistake in let is each statement's, and so is a wrong UUID.
func newStatementScope(req *Request, name string) (scope, error) {
	sc, err := newScope(req)
	if err == nil {
		err = req.checkUUID(name)
	}
	if err == nil || endsCommand(err) {
		return sc, err
	}
	sc.mistake = err
	return sc, nil
}

func (s scope) filter(doc bsonx.Doc) (*filter.Filter, error) {
	return s.counted(doc, s.filterOptions())
}

// counted compiles a query and counts its operators.
func (s scope) counted(doc bsonx.Doc, opts filter.Options) (*filter.Filter, error) {
	f, err := filter.Parse(doc, opts)
	if err == nil && s.operators != nil && !(s.writes && isPoint(doc)) {
		s.operators.filter(doc)
	}
	return f, err
}

// filterOptions are the options of queries. The request's bytes outlive them; a cursor retains them.
func (s scope) filterOptions() filter.Options {
	opts := filter.FindOptions(s.vars, s.now)
	opts.Borrow, opts.Collation = true, s.collation
	return opts
}

// filterWithoutExpr compiles predicates in which $expr, $where and $jsonSchema have no place: array filters and the
// condition of $pull.
func (s scope) filterWithoutExpr(doc bsonx.Doc) (*filter.Filter, error) {
	return filter.Parse(doc, filter.Options{Vars: s.vars, Now: s.now, Collation: s.collation, RefuseSchema: true})
}

// filterForUpsert compiles the query of an upsert, from which a document must be derived: $expr has no place in it.
func (s scope) filterForUpsert(doc bsonx.Doc) (*filter.Filter, error) {
	opts := s.filterOptions()
	opts.AllowExpr, opts.Upsert = false, true
	return s.counted(doc, opts)
}

// checkHint accepts an index name or a key pattern.
func checkHint(v bsonx.Value) error {
	switch v.Type {
	case bsonx.TypeMissing, bsonx.TypeString, bsonx.TypeDocument:
		return nil
	default:
		return mongoerr.New(mongoerr.FailedToParse, "Hint must be a string or an object")
	}
}

// readable returns the collection that a command reads: nil where there is none, an error for a view.
func (r *Request) readable() (name string, c *table.Collection, err error) {
	name, err = r.Collection()
	if err != nil {
		return "", nil, err
	}
	c, err = r.lookup(name)
	if err != nil {
		return "", nil, err
	}
	if c != nil && c.Kind == catalog.KindView {
		return "", nil, mongoerr.New(mongoerr.NotImplemented, "reading the view %s.%s is not supported yet", r.DB, name)
	}
	return name, c, nil
}

// writable checks the namespace of a write and returns the collection, nil where there is none yet: of a time-series collection
// its buckets.
func (r *Request) writable(db, name string) (*table.Collection, error) {
	if err := catalog.CheckDatabaseName(db); err != nil {
		return nil, err
	}
	if err := catalog.CheckWrite(db, name); err != nil {
		return nil, err
	}
	return r.existingTarget(db, name)
}

// existingTarget is writable for a name that a collection may have already.
func (r *Request) existingTarget(db, name string) (*table.Collection, error) {
	c, err := r.reads().lookup(db, name)
	if err != nil {
		return nil, err
	}
	return r.written(c)
}

// written returns the collection that writes to c, which may be nil, change: the buckets of a time
// series. It fails for a view.
func (r *Request) written(c *table.Collection) (*table.Collection, error) {
	switch {
	case c == nil:
		return nil, nil
	case c.Kind == catalog.KindTimeseries:
		return r.reads().buckets(c)
	case isVirtual(c):
		return nil, notStored(c)
	case c.Kind == catalog.KindView:
		return nil, mongoerr.New(mongoerr.CommandNotSupportedOnView, "Namespace %s is a view, not a collection", c.Namespace())
	}
	return c, nil
}

// ensure returns a collection to insert into, made where there is none.
func (r *Request) ensure(db, name string) (*table.Collection, error) {
	for {
		c, err := r.writable(db, name)
		if err != nil || c != nil {
			return c, err
		}
		if txn := r.txn(); txn != nil {
			return txn.Ensure(db, name)
		}
		// Another client may be first, and make a view or a time series.
		if _, err := r.Service.Store.Ensure(db, name); err != nil {
			return nil, err
		}
	}
}

// checkWithout judges a statement on a collection that does not exist: a search for words has no
// index there, and the hint of a scan may be wrong.
func checkWithout(db, name string, f *filter.Filter, hint bsonx.Value) error {
	if f != nil && f.Text() != nil {
		return plan.NoTextIndex(db + "." + name)
	}
	return plan.CheckHint(hint)
}

// lookup returns a collection or view of the request's database, or nil.
func (r *Request) lookup(name string) (*table.Collection, error) { return r.reads().lookup(r.DB, name) }

// writeOptions are the options that all statements of a write command share. Those of a command that asks for durability wait for one
// sync at its end.
func (r *Request) writeOptions() write.Options {
	return write.Options{
		Ordered:          r.BoolOr("ordered", true) || r.work != nil,
		BypassValidation: r.Bool("bypassDocumentValidation"),
		Durability:       r.durability(storage.Deferred),
		Deferred:         &r.deferred,
		Txn:              r.txn(),
		Retry:            r.retries(),
	}
}

// single returns the options for the only commit of a command, which waits for its own sync where there is one, if once says that it is.
func (r *Request) single(opts write.Options, once bool) write.Options {
	if once {
		opts.Durability = r.durability(storage.Durable)
	}
	return opts
}

// durability turns the write concern into what a commit waits for: with j or a majority it survives the loss of power.
func (r *Request) durability(durable storage.Durability) storage.Durability {
	if r.Generic.WriteConcern.Durable() {
		return durable
	}
	return storage.Buffered
}

// sync waits until what the command has committed is as durable as was asked.
func (r *Request) sync() error {
	if !r.deferred {
		return nil
	}
	return r.Service.Store.Engine().Sync()
}

// writeErrors collects the errors of single documents or statements.
type writeErrors struct {
	items []writeError
	told  errorText
}

type writeError struct {
	index int
	err   *mongoerr.Error
}

func (e *writeErrors) add(index int, err error) {
	e.items = append(e.items, writeError{index, e.told.shortened(err)})
}

// errorText counts the errors of one command and the bytes of their messages and details.
type errorText struct{ errors, text, info int }

// shortened returns the next error of the command, cut at the limits.
func (t *errorText) shortened(err error) *mongoerr.Error {
	e := *userError(err)
	e.Info = detailsOf(&e)
	if t.errors > 0 && t.info+len(e.Info) > maxErrorInfo {
		e.Info = nil
	}
	if t.errors > 1 && t.text >= maxErrorText {
		e.Message = ""
	}
	t.errors++
	t.text += len(e.Message)
	t.info += len(e.Info)
	return &e
}

// appendWriteErrors writes the field writeErrors, if there are any. They end a transaction.
func (r *Request) appendWriteErrors(reply *bsonx.Builder, e *writeErrors) {
	r.failed = r.failed || len(e.items) > 0
	r.Service.stats.userErrors.Add(int64(len(e.items)))
	e.append(reply)
}

// The limits of what write errors tell. Beyond them an error is only its index and its code.
const (
	// maxErrorText is from when on messages are left out, where there are several.
	maxErrorText = 1 << 20
	// maxErrorInfo is from when on details are left out, such as the keys of duplicates.
	maxErrorInfo = 16 << 20
)

// append writes the field writeErrors, if there are any.
func (e *writeErrors) append(reply *bsonx.Builder) {
	if len(e.items) == 0 {
		return
	}
	reply.StartArrayField("writeErrors")
	for _, item := range e.items {
		reply.StartDocElem()
		reply.Int32("index", int32(item.index))
		appendWriteError(reply, item.err)
		reply.End()
	}
	reply.End()
}

// appendWriteError appends code, message and details of an error.
func appendWriteError(reply *bsonx.Builder, e *mongoerr.Error) {
	reply.Int32("code", int32(e.Code))
	reply.String("errmsg", e.Message)
	reply.Fields(e.Info)
}

// endsCommand tells errors that end a whole write command from those of a single document or statement.
func endsCommand(err error) bool {
	var e *mongoerr.Error
	if !errors.As(err, &e) {
		return true
	}
	return write.Interrupts(e.Code) || e.Code == mongoerr.NotImplemented || isTransient(e.Code, false)
}

// CompileFilter implements update.Compiler.
func (s *scope) CompileFilter(doc bsonx.Doc) (update.Matcher, error) { return s.filterWithoutExpr(doc) }

// CompilePipeline implements update.Compiler.
func (s *scope) CompilePipeline(stages bsonx.Value) (update.Transformer, error) {
	t, err := pipeline.ParseUpdate(stages, pipeline.Options{Vars: s.vars, Now: s.now, Collation: s.collation})
	if err == nil && s.operators != nil {
		s.operators.pipeline(stages)
	}
	return t, err
}

// env is what applying an update depends on. vars are those of its command, whose operation it serves.
func (r *Request) env(vars *expr.Vars) update.Env {
	return update.Env{
		Now: r.Now, Timestamp: r.Service.nextTime, KeepTimestamps: r.Bool(keepTimestamps), Running: vars.Scripts().Running,
	}
}

// keepTimestamps is the argument by which Timestamp(0, 0) in a new document is stored as it is.
const keepTimestamps = "bypassEmptyTsReplacement"

// insertTime returns what replaces Timestamp(0, 0) in a new document; nil for nothing.
func (r *Request) insertTime() func() (t, i uint32) {
	if r.Bool(keepTimestamps) {
		return nil
	}
	return r.Service.nextTime
}

// docsOf returns the documents of an array; element names path for the error of one that is no document.
func docsOf(path string, v bsonx.Value) ([]bsonx.Doc, error) {
	var out []bsonx.Doc
	for it := v.Doc().Iter(); it.Next(); {
		if absent(it.Value()) {
			continue
		}
		if it.Value().Type != bsonx.TypeDocument {
			return nil, WrongType(path+"."+string(it.Key()), it.Value().Type, Object)
		}
		out = append(out, it.Value().Doc())
	}
	return out, nil
}

// filteredQuery is what the fields query and collation of a command ask for.
func filteredQuery(req *Request, name string, c *table.Collection) (*plan.Query, error) {
	sc, err := newScope(req)
	if err != nil {
		return nil, err
	}
	if sc, err = sc.collated(req.Get("collation"), c); err != nil {
		return nil, err
	}
	f, err := sc.filterOrAll(req.Doc("query"))
	if err != nil {
		return nil, err
	}
	return &plan.Query{DB: req.DB, Name: name, Coll: c, Filter: f, Collation: sc.collation, CollationSpec: specOf(req.Get("collation"))}, nil
}

// hintedQuery is filteredQuery for a command that also has the field hint.
func hintedQuery(req *Request, name string, c *table.Collection) (*plan.Query, error) {
	if err := checkHint(req.Get("hint")); err != nil {
		return nil, err
	}
	q, err := filteredQuery(req, name, c)
	if err != nil {
		return nil, err
	}
	q.Hint = req.Get("hint")
	return q, nil
}

// filterOrAll compiles a filter that may be absent.
func (s scope) filterOrAll(doc bsonx.Doc) (*filter.Filter, error) {
	if doc == nil {
		doc = bsonx.Empty
	}
	return s.filter(doc)
}

// firstMistake returns what is reported of a filter that failed with err: a projection that cannot be parsed comes before an
// expression of constants that has no value.
func (s scope) firstMistake(filter, spec bsonx.Doc, err error) error {
	s.vars = s.vars.WithFailures(&expr.Failures{})
	f, parsing := s.filterOrAll(filter)
	if parsing != nil || spec.IsEmpty() {
		return err
	}
	if _, mistake := projection.Parse(spec, projection.Options{Filter: f, Vars: s.vars, Now: s.now, Collation: s.collation}); mistake != nil {
		return mistake
	}
	return err
}

// projection compiles a projection; nil for an absent or empty one.
func (s scope) projection(doc bsonx.Doc, f *filter.Filter) (*projection.Projection, error) {
	if doc.IsEmpty() {
		return nil, nil
	}
	failures := &expr.Failures{}
	opts := projection.Options{Filter: f, Vars: s.vars.WithFailures(failures), Now: s.now, Collation: s.collation}
	p, err := projection.Parse(doc, opts)
	if err == nil {
		err = failures.Err()
	}
	if err != nil || !p.NeedsDetails() {
		return p, err
	}
	// The canonical form of the filter decides which array element the positional operator stands for.
	opts.Filter = f.Normalize()
	return projection.Parse(doc, opts)
}
