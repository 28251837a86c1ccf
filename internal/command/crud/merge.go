package crud

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/update"
	"github.com/sheafdb/sheaf/internal/write"
)

// $merge turns each document into one update of the target collection, or into one insert.

// The error codes of MongoDB for $merge.
const (
	codeMergeNullish = mongoerr.Code(51132)
	codeMergeIndex   = mongoerr.Code(51183)
	codeMergeArray   = mongoerr.Code(51185)
	codeMergeSeries  = mongoerr.Code(1074330)
)

// merger is the state of a running $merge.
type merger struct {
	*source.Merge
	req  *command.Request
	opts write.Options
	on   []string
	// collation is the collation of the aggregation. It decides whether the fields of on are equal.
	collation *collation.Collator
	// nullish is true if the fields of on may be missing or null, because the unique index has
	// entries for such documents.
	nullish bool

	batch []mergeItem
	bytes int
	held  memory.Holding // memory of the batch
}

// Merge implements source.Writer.
func (p *stageWriter) Merge(ctx context.Context, target *source.Merge, src source.Source) error {
	m := &merger{
		Merge: target, req: p.request(), opts: p.writes, on: target.On, collation: p.Collation,
		held: p.service.Memory.Hold(),
	}
	defer m.held.Release()
	if m.on == nil {
		m.on = []string{"_id"}
	}
	c, err := command.WriteTarget(m.req, target.DB, target.Coll)
	if err != nil {
		return err
	}
	if c != nil && c.Timeseries != nil {
		return mongoerr.New(codeMergeSeries,
			"Cannot find index to verify that join fields will be unique: Timeseries collections cannot have unique indexes")
	}
	if err := m.checkUnique(c); err != nil {
		return query.NewRefused(err)
	}
	if c == nil && m.WhenMatched != "pipeline" {
		// The first document creates the collection, which has no default collation, so _id values
		// are compared as bytes. With a pipeline MongoDB uses the collation of the aggregation
		// anyway.
		m.collation = nil
	}
	kind, began := table.TrafficUpdate, p.service.Clock.Now()
	if m.WhenMatched == "fail" {
		kind = table.TrafficInsert
	}
	defer func() { p.service.CountTraffic(target.DB, target.Coll, kind, clock.Since(p.service.Clock, began)) }()
	if err := source.Drain(ctx, src, func(doc bsonx.Doc) error { return m.add(ctx, doc) }); err != nil {
		return err
	}
	return m.flush(ctx)
}

// checkUnique returns an error unless the collection has a unique index on exactly the fields of
// on, with the collation of the aggregation.
func (m *merger) checkUnique(c *table.Collection) error {
	found := false
	if len(m.on) == 1 && m.on[0] == "_id" {
		m.nullish = true
		found = c == nil || c.Collation.Same(m.collation)
	}
	if c != nil {
		for _, ix := range c.Indexes {
			if !ix.Ready || !ix.Unique || ix.PartialFilter != nil || len(ix.Pattern) != len(m.on) ||
				!ix.Collation.Same(m.collation) {
				continue
			}
			same := true
			for _, f := range ix.Pattern {
				same = same && slices.Contains(m.on, f.Path)
			}
			found = found || same
			m.nullish = m.nullish || same && !ix.Sparse
		}
	}
	if !found {
		return mongoerr.New(codeMergeIndex, "Cannot find index to verify that join fields will be unique")
	}
	return nil
}

// mergeItem is a document with the query for the target document that it is merged into.
type mergeItem struct{ query, doc bsonx.Doc }

// maxMergeBatch is the size in bytes at which a batch is written.
const maxMergeBatch = limits.DocumentBytes

// add checks a document and adds it to the batch. It merges a large document immediately instead of
// copying it to the batch, because the copy would need memory in addition to the write.
func (m *merger) add(ctx context.Context, doc bsonx.Doc) error {
	if !m.held.Fits(int64(m.bytes + len(doc))) {
		if err := m.flush(ctx); err != nil {
			return err
		}
	}
	large := len(doc) > outBytes
	if !large {
		doc = doc.Clone()
	}
	if slices.Contains(m.on, "_id") && doc.Lookup("_id").IsMissing() {
		var err error
		if doc, err = update.PrepareInsert(doc, nil, m.req.Service.NextTime); err != nil {
			return err
		}
	}
	query, err := m.query(doc)
	if err != nil {
		return err
	}
	m.batch = append(m.batch, mergeItem{query, doc})
	if m.bytes += len(doc) + len(query); large || m.bytes >= maxMergeBatch {
		return m.flush(ctx)
	}
	return m.held.Hold(int64(m.bytes))
}

// flush writes the batch. If documents fail, it tries the others and then returns the first error.
func (m *merger) flush(ctx context.Context) error {
	var failure error
	unmatched := false
	for _, item := range m.batch {
		matched, err := m.one(ctx, item)
		if err != nil && endsCommand(err) {
			return err
		}
		if failure == nil {
			failure = err
		}
		unmatched = unmatched || !matched
	}
	clear(m.batch)
	m.batch, m.bytes = m.batch[:0], 0
	m.held.Shrink(0)
	if failure == nil && unmatched && m.WhenNotMatched == "fail" {
		return mongoerr.New(mongoerr.MergeStageNoMatchingDocument,
			"$merge could not find a matching document in the target collection for at least one document in the source collection")
	}
	return failure
}

// errBecameSeries is the error of $merge if its target was replaced by a time series.
var errBecameSeries = mongoerr.New(mongoerr.ConflictingOperationInProgress,
	"the collection was replaced by a time series")

// one merges one document and reports whether a target document matched.
func (m *merger) one(ctx context.Context, item mergeItem) (matched bool, err error) {
	if m.WhenMatched == "fail" {
		err := m.insert(ctx, item.doc)
		m.req.Service.Stats.Inserts.Count(1, int64(boolCount(err == nil)))
		return false, err
	}
	counted := memory.Of(ctx).Begin()
	defer counted.Release()
	st, err := m.statement(item.query, item.doc)
	if err != nil {
		return false, err
	}
	res, err := runUpdateStatement(ctx, m.req, m.DB, m.Coll, st, compiledFor{any: true}, m.opts)
	if errors.Is(err, errReplaced) {
		err = errBecameSeries
	}
	if err == nil && !res.UpsertedID.IsMissing() {
		m.req.Service.Stats.Inserts.Count(1, 1)
	} else {
		m.req.Service.Stats.Updates.Count(1, res.Matched)
	}
	return res.Matched > 0, m.explained(err)
}

// query returns the query for the target document that has the same values in the fields of on.
func (m *merger) query(doc bsonx.Doc) (bsonx.Doc, error) {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for _, path := range m.on {
		v := lookupDotted(doc, path)
		switch {
		case v.Type == bsonx.TypeArray:
			return nil, mongoerr.New(codeMergeArray, "$merge write error: 'on' field '%s' is an array", path)
		case !v.IsNull() && v.Type != bsonx.TypeUndefined:
		case !m.nullish:
			return nil, mongoerr.New(codeMergeNullish, "$merge write error: 'on' field '%s' cannot be missing, null or undefined if supporting index is sparse", path)
		default:
			v = bsonx.Null
		}
		b.StartDocField(path)
		b.Value("$eq", v)
		b.End()
	}
	b.End()
	return b.Bytes(), nil
}

// lookupDotted returns the value at a dotted path through embedded documents. If the path meets an
// array, it returns the array.
func lookupDotted(doc bsonx.Doc, path string) bsonx.Value {
	v := bsonx.Document(doc)
	for part := range strings.SplitSeq(path, ".") {
		if v.Type != bsonx.TypeDocument {
			return arrayOrMissing(v)
		}
		v = v.Doc().Lookup(part)
	}
	return v
}

func arrayOrMissing(v bsonx.Value) bsonx.Value {
	if v.Type == bsonx.TypeArray {
		return v
	}
	return bsonx.Missing
}

func (m *merger) insert(ctx context.Context, doc bsonx.Doc) error {
	prepared, err := update.PrepareInsert(doc, nil, m.req.Service.NextTime)
	if err != nil {
		return err
	}
	open := func() (*table.Collection, error) { return command.EnsureTarget(m.req, m.DB, m.Coll) }
	var failure error
	_, err = m.req.Service.Writes.Insert(ctx, open, []bsonx.Doc{prepared}, m.opts,
		func(_ int, err error) { failure = err })
	if err != nil {
		return err
	}
	return m.explained(failure)
}

// explained adds MongoDB's explanation of $merge to the message of a write error.
func (m *merger) explained(err error) error {
	code := mongoerr.CodeOf(err)
	switch {
	case code == mongoerr.ImmutableField:
		return command.PrefixError(err, "$merge failed to update the matching document, did you attempt to modify the _id or the shard key? :: caused by :: ")
	case code != mongoerr.DuplicateKey:
		return err
	case m.WhenMatched == "fail" && m.sameKey(err):
		return command.PrefixError(err, "$merge with whenMatched: fail found an existing document with the same values for the 'on' fields :: caused by :: ")
	}
	return command.PrefixError(err, "$merge failed due to a DuplicateKey error :: caused by :: ")
}

// sameKey reports whether a duplicate key error is about an index on exactly the fields of on.
func (m *merger) sameKey(err error) bool {
	var e *mongoerr.Error
	if !errors.As(err, &e) || e.Info == nil {
		return false
	}
	pattern := bsonx.Doc(e.Info).Lookup("keyPattern")
	if pattern.Type != bsonx.TypeDocument || pattern.Doc().Len() != len(m.on) {
		return false
	}
	for it := pattern.Doc().Iter(); it.Next(); {
		if !slices.Contains(m.on, string(it.Key())) {
			return false
		}
	}
	return true
}

// statement returns the update that merges one document.
func (m *merger) statement(query, doc bsonx.Doc) (*write.UpdateStatement, error) {
	mods := bsonx.Document(doc)
	sc := read.Scope{Now: m.req.Now, Collation: m.collation}
	var err error
	switch m.WhenMatched {
	case "keepExisting":
		mods = bsonx.NewArray()
	case "merge":
		mods = bsonx.Document(bsonx.NewDoc("$set", doc)) // like MongoDB: $set adds new fields sorted by name
	case "pipeline":
		mods = m.Stages
	}
	if m.WhenMatched != "replace" {
		if sc.Vars, err = m.Vars(doc); err != nil {
			return nil, err
		}
	}
	u, err := update.Parse(mods, update.Options{Compiler: &sc, Running: sc.Vars.Scripts().Running})
	if err != nil {
		return nil, err
	}
	f, err := sc.Filter(query)
	if err != nil {
		return nil, err
	}
	st := &write.UpdateStatement{
		Query: write.Query{Filter: f, One: true}, RawFilter: query, Update: u, Env: updateEnv(m.req, sc.Vars),
		Upsert: m.WhenNotMatched == "insert",
	}
	if st.Upsert {
		st.Supplied, err = update.PrepareInsert(doc, nil, m.req.Service.NextTime)
	}
	return st, err
}
