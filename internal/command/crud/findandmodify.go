package crud

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/ddl"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/projection"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/write"
)

// FindAndModifyCommands returns the definition of findAndModify.
func FindAndModifyCommands() []command.Definition {
	return []command.Definition{{
		Name: "findAndModify", Aliases: []string{"findandmodify"},
		Help: "Changes or removes one document and returns it.",
		Properties: command.Properties{
			Writes: feature.Yes, Transactions: feature.Yes, StableAPI: feature.Yes, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Run: runFindAndModify, Explain: explainPlan(explainFindAndModify), Retryable: true, Kind: "command",
		Latency: table.LatencyWrites, Statement: "findAndModify",
		Fields: []command.Field{
			{Name: "query", Type: command.Object},
			{Name: "sort", Type: command.Object},
			{Name: "remove", Type: command.SafeBool},
			{Name: "update", Check: checkModsAndStages},
			{Name: "new", Type: command.SafeBool},
			{Name: "fields", Type: command.Object},
			{Name: "upsert", Type: command.SafeBool},
			{Name: "bypassDocumentValidation", Type: command.SafeBool},
			{Name: "collation", Type: command.Object},
			{Name: "arrayFilters", Type: command.Array, Check: checkArrayFilters},
			{Name: "hint", Type: command.Any},
			{Name: "let", Type: command.Object},
			{Name: "stmtId", Type: command.Int},
			encryptionInformation,
			isTimeseriesNamespace,
			{Name: "originalQuery", Type: command.Object},
			{Name: "originalCollation", Type: command.Object},
			{Name: "sampleId", Type: command.BinData},
			{Name: "bypassEmptyTsReplacement", Type: command.OptionalBool},
		},
	}}
}

func runFindAndModify(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	if err := checkFindAndModify(req); err != nil {
		return err
	}
	if err := checkBuckets(req, name); err != nil {
		return err
	}
	sc, err := command.NewScope(req)
	if err != nil {
		return err
	}
	if err := readStatements(req, 1); err != nil {
		return err
	}
	m := &modification{
		req: req, name: name, opts: singleCommit(req, writeOptions(req), true),
		held: req.Service.Memory.Hold(),
	}
	if rec := executed(req, 0); rec != nil {
		return m.answerRetry(sc, rec, reply)
	}
	defer m.held.Release()
	m.opts.Retry.OfModification(req.Bool("remove"), m.retryImage)
	return table.RetryOn(errReplaced, func() error {
		if req.Bool("remove") {
			return m.remove(ctx, sc, reply)
		}
		return m.update(ctx, sc, reply)
	})
}

// checkFindAndModify returns an error for options that contradict each other.
func checkFindAndModify(req *command.Request) error {
	remove, hasUpdate := req.Bool("remove"), req.Has("update")
	switch {
	case !remove && !hasUpdate:
		return mongoerr.New(mongoerr.FailedToParse, "Either an update or remove=true must be specified")
	case remove && hasUpdate:
		return mongoerr.New(mongoerr.FailedToParse, "Cannot specify both an 'update' and 'remove'=true")
	case remove && req.Bool("upsert"):
		return mongoerr.New(mongoerr.FailedToParse, "Cannot specify both 'upsert'=true and 'remove'=true ")
	case remove && req.Bool("new"):
		return mongoerr.New(mongoerr.FailedToParse, "Cannot specify both 'new'=true and 'remove'=true; 'remove' always returns the deleted document")
	case remove && req.Has("arrayFilters"):
		return mongoerr.New(mongoerr.FailedToParse, "Cannot specify 'arrayFilters' and 'remove'=true")
	case req.Get("update").Type == bsonx.TypeArray && req.Has("arrayFilters"):
		return mongoerr.New(mongoerr.FailedToParse, "Cannot specify arrayFilters and a pipeline update")
	}
	if err := read.CheckHint(req.Get("hint")); err != nil {
		return err
	}
	return CheckSort(req.Doc("sort"))
}

// checkModsAndStages returns an error unless v is an update document or an array of documents.
func checkModsAndStages(name string, v bsonx.Value) error {
	if err := checkMods(name, v); err != nil {
		return err
	}
	return checkStageTypes(v)
}

// checkArrayFilters returns an error if an element of arrayFilters is not a document.
func checkArrayFilters(name string, v bsonx.Value) error {
	_, err := command.DocsOf("findAndModify."+name, v)
	return err
}

// compileFields compiles the projection of the returned document. If the collection does not exist
// and the command does not create it, the projection is not checked, as in MongoDB.
func (m *modification) compileFields(sc read.Scope, c *table.Collection, f *filter.Filter) error {
	if c == nil && !m.req.Bool("upsert") {
		return nil
	}
	var err error
	m.proj, err = sc.Projection(m.req.Doc("fields"), f)
	if err == nil && m.proj != nil && slices.Contains(m.proj.MetaKinds(), "sortKey") {
		err = mongoerr.New(mongoerr.BadValue, "Cannot use a $meta sortKey projection in findAndModify commands.")
	}
	if err == nil && m.proj != nil && m.proj.Positional() && m.req.Bool("new") {
		err = mongoerr.New(mongoerr.BadValue, "cannot use a positional projection and return the new document")
	}
	return err
}

// modification is the state of a running findAndModify.
type modification struct {
	req   *command.Request
	name  string
	opts  write.Options
	proj  *projection.Projection
	value bsonx.Doc // the document to return, before and after its projection
	found bool
	held  memory.Holding // memory of value and of its copy in the reply
	// text is the $text search of the query, or nil. meta holds the $meta values of the found
	// document.
	text *filter.Text
	meta projection.Meta
}

// queryDoc returns the query, or an empty document if the command has none.
func (m *modification) queryDoc() bsonx.Doc {
	if query := m.req.Doc("query"); query != nil {
		return query
	}
	return bsonx.Empty
}

// take stores a copy of a document as the value to return. It fails if there is too little memory.
func (m *modification) take(doc bsonx.Doc) error {
	if err := m.held.Hold(2 * int64(len(doc))); err != nil {
		return err
	}
	m.found, m.value = true, doc.Clone()
	return nil
}

// score stores the text score of the found document in meta, if there is a $text search and a
// projection.
func (m *modification) score(doc bsonx.Doc) {
	if m.text == nil || m.proj == nil || doc == nil {
		return
	}
	m.meta.Searched = true
	if score, ok := m.text.Score(doc); ok {
		m.meta.TextScore = bsonx.Double(score)
	}
}

// see stores the $meta values that the plan provides for the found document, if the projection uses
// $meta.
func (m *modification) see(row *exec.Row) (err error) {
	m.meta = projection.Meta{}
	if m.proj == nil || len(m.proj.MetaKinds()) == 0 {
		return nil
	}
	if row.Located {
		m.meta.GeoDistance, m.meta.GeoPoint = bsonx.Double(row.Distance), row.Place.Clone()
	}
	if row.Key != nil {
		var fields exec.EntryFields
		var key bsonx.Doc
		key, err = fields.Document(nil, row)
		m.meta.IndexKey = bsonx.Document(key)
	}
	return err
}

// project applies the projection to the value to return. It runs after the write, so if it fails,
// the write has still happened, as in MongoDB.
func (m *modification) project() error {
	if m.proj == nil || !m.found {
		return nil
	}
	m.meta.RecordID = bsonx.Null // as in MongoDB
	var err error
	m.value, err = m.proj.Apply(nil, m.value, &m.meta)
	return read.ExecutingWrite(m.req.Def.Name, err)
}

func (m *modification) remove(ctx context.Context, sc read.Scope, reply *bsonx.Builder) error {
	c, err := m.req.Lookup(m.name)
	if err != nil {
		return err
	}
	collated, err := sc.Collated(m.req.Get("collation"), c)
	if err != nil {
		return err
	}
	if seriesOf(m.req.Service, m.req.DB, m.name) != nil && !m.req.Doc("sort").IsEmpty() {
		return ddl.InvalidSeries("Cannot perform a findAndModify with a query and sort on a time-series collection.")
	}
	f, err := collated.Filter(m.queryDoc())
	if err != nil {
		return err
	}
	if err := m.compileFields(collated, c, f); err != nil {
		return err
	}
	if err := query.CheckSortMeta(m.req.Doc("sort"), f); err != nil {
		return err
	}
	query := write.Query{
		Seen: m.see, Filter: f, Sort: m.req.Doc("sort"), Hint: m.req.Get("hint"),
		Collation: read.SpecOf(m.req.Get("collation")), One: true,
	}
	m.text = f.Text()
	st := &write.DeleteStatement{Query: query, Deleted: func(doc bsonx.Doc) error {
		m.score(doc)
		return m.take(doc)
	}}
	n, err := runDeleteStatement(ctx, m.req, m.req.DB, m.name, st,
		meantFor(c, m.req.Get("collation")), m.queryDoc(), m.opts)
	if err != nil {
		return err
	}
	m.found = m.found && n > 0
	m.req.Op.Debug.Deleted(n)
	if err := m.project(); err != nil {
		return err
	}
	reply.StartDocField("lastErrorObject")
	reply.Int32("n", int32(boolCount(m.found)))
	reply.End()
	m.appendValue(reply)
	return nil
}

func (m *modification) update(ctx context.Context, sc read.Scope, reply *bsonx.Builder) error {
	spec := &command.UpdateSpec{
		Query: m.queryDoc(), Mods: m.req.Get("update"), ArrayFilters: m.req.Get("arrayFilters"),
		Hint: m.req.Get("hint"), Sort: m.req.Doc("sort"),
		Collation: m.req.Get("collation"), Upsert: m.req.Bool("upsert"),
	}
	c, err := m.req.Lookup(m.name)
	if err != nil {
		return err
	}
	st := new(write.UpdateStatement)
	if err := compileUpdate(m.req, sc, c, spec, st); err != nil {
		return err
	}
	collated, err := sc.Collated(spec.Collation, c)
	if err != nil {
		return err
	}
	if err := m.compileFields(collated, c, st.Filter); err != nil {
		return err
	}
	if seriesOf(m.req.Service, m.req.DB, m.name) != nil {
		return errSeriesUpdateOne
	}
	m.text, st.Seen = st.Filter.Text(), m.see
	returnNew := m.req.Bool("new")
	st.Updated = func(old, doc bsonx.Doc) error {
		m.found, m.value = false, nil // the write is tried again after a conflict: forget the earlier document
		if old == nil {
			m.meta = projection.Meta{} // the values belong to a document that was removed meanwhile
		}
		m.score(old)
		switch {
		case returnNew:
			return m.take(doc)
		case old != nil:
			return m.take(old)
		default:
			return nil
		}
	}
	res, err := runUpdateStatement(ctx, m.req, m.req.DB, m.name, st, meantFor(c, spec.Collation), m.opts)
	if err != nil {
		return err
	}
	upserted := !res.UpsertedID.IsMissing()
	m.found = m.found && (upserted || res.Matched > 0)
	m.req.Op.Debug.Updated(res.Matched, res.Modified, int64(boolCount(upserted)))
	if err := m.project(); err != nil {
		return err
	}
	reply.StartDocField("lastErrorObject")
	reply.Int32("n", int32(boolCount(res.Matched > 0 || upserted)))
	reply.Bool("updatedExisting", res.Matched > 0)
	reply.Value("upserted", res.UpsertedID)
	reply.End()
	m.appendValue(reply)
	return nil
}

func (m *modification) appendValue(reply *bsonx.Builder) {
	m.req.Op.Debug.NReturned = int64(boolCount(m.found))
	if m.found {
		reply.Doc("value", m.value)
	} else {
		reply.Null("value")
	}
}

func boolCount(b bool) int {
	if b {
		return 1
	}
	return 0
}

func explainFindAndModify(req *command.Request) (*explain.Request, error) {
	if len(req.Service.Store.Catalog().Collections(req.DB)) == 0 {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "database %s does not exist", req.DB)
	}
	if err := checkFindAndModify(req); err != nil {
		return nil, err
	}
	sc, err := command.NewScope(req)
	if err != nil {
		return nil, err
	}
	query := req.Doc("query")
	if query == nil {
		query = bsonx.Empty
	}
	ask, st := &explain.Request{Command: explain.FindAndDelete}, new(write.UpdateStatement)
	if !req.Bool("remove") {
		ask = &explain.Request{Command: explain.FindAndUpdate, Upsert: req.Bool("upsert"), Returns: req.Bool("new")}
		if err := compileModification(req, sc, query, st); err != nil {
			return nil, err
		}
	}
	ask.Query, err = writeQuery(req, sc, query, req.Doc("sort"), req.Get("hint"), req.Get("collation"))
	if err != nil {
		return nil, err
	}
	if ask.Fields = req.Doc("fields"); !ask.Fields.IsEmpty() {
		if sc, err = sc.Collated(req.Get("collation"), ask.Query.Coll); err != nil {
			return nil, err
		}
		m := modification{req: req}
		if err := m.compileFields(sc, ask.Query.Coll, ask.Query.Filter); err != nil {
			return nil, err
		}
	}
	if st.Update == nil {
		return ask, nil
	}
	return tried(ask, st), nil
}

// compileModification compiles the update of a findAndModify that is explained.
func compileModification(r *command.Request, sc read.Scope, query bsonx.Doc, st *write.UpdateStatement) error {
	name, err := r.Collection()
	if err != nil {
		return err
	}
	c, err := r.Lookup(name)
	if err != nil {
		return err
	}
	spec := command.UpdateSpec{
		Query: query, Mods: r.Get("update"), ArrayFilters: r.Get("arrayFilters"), Collation: r.Get("collation"),
		Sort: r.Doc("sort"), Upsert: r.Bool("upsert"),
	}
	return compileUpdate(r, sc, c, &spec, st)
}
