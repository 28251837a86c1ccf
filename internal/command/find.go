package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/projection"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/table"
)

// defaultFirstBatch is how many documents the first batch has where the command does not say.
const defaultFirstBatch = 101

func findCommands() []Definition {
	return []Definition{{
		Name: "find", Help: "Returns the documents that match a filter.",
		Run: runFind, Read: true, API1: true, Kind: "query", Counter: CountQuery, Fields: findFields,
	}}
}

var findFields = []Field{
	{Name: "filter", Type: Object},
	{Name: "projection", Type: Object},
	{Name: "sort", Type: Object},
	{Name: "hint", Type: Any},
	{Name: "skip", Type: SafeInt, Check: AtLeast(0)},
	{Name: "limit", Type: SafeInt, Check: AtLeast(0)},
	{Name: "batchSize", Type: SafeInt, Check: AtLeast(0)},
	{Name: "ntoreturn", Type: SafeInt, Check: AtLeast(0)},
	{Name: "singleBatch", Type: SafeBool},
	{Name: "allowDiskUse", Type: Bool},
	{Name: "min", Type: Object, Unstable: true},
	{Name: "max", Type: Object, Unstable: true},
	{Name: "returnKey", Type: SafeBool, Unstable: true},
	{Name: "showRecordId", Type: SafeBool, Unstable: true},
	{Name: "tailable", Type: SafeBool, Unstable: true},
	{Name: "oplogReplay", Type: SafeBool, Unstable: true},
	{Name: "noCursorTimeout", Type: SafeBool, Unstable: true},
	{Name: "awaitData", Type: SafeBool, Unstable: true},
	{Name: "allowPartialResults", Type: SafeBool},
	{Name: "let", Type: Object},
	{Name: "options", Type: SafeInt},
	{Name: "term", Type: SafeInt},
	{Name: "readOnce", Type: SafeBool, Unstable: true},
	{Name: "collation", Type: Object},
	{Name: "encryptionInformation", Type: Object},
}

func runFind(ctx context.Context, req *Request, reply *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	c := req.Service.Store.Lookup(req.DB, name)
	if isView(c) {
		return findOnView(ctx, req, name, reply)
	}
	q, err := findQuery(req, name, c)
	if err != nil {
		return err
	}
	src, err := openSource(ctx, req.Service, q)
	if err != nil {
		return err
	}
	cursor := &session.Cursor{Source: src, DB: req.DB, Collection: name, Owner: req.Owner(), NoTimeout: req.Bool("noCursorTimeout")}
	b := batch{
		req: req, cursor: cursor, field: "firstBatch",
		size:   req.Int64("batchSize", defaultFirstBatch),
		single: req.Bool("singleBatch"),
		done:   src.done,
	}
	if q.Tailable {
		cursor.Tailable, cursor.AwaitData = true, req.Bool("awaitData")
		b.staysOpen = src.staysOpen
	}
	if err := b.first(ctx, reply); err != nil {
		return err
	}
	src.report(&req.Op.Debug)
	return nil
}

// findQuery compiles what a find command asks for.
func findQuery(req *Request, name string, c *table.Collection) (*plan.Query, error) {
	if err := checkFind(req, name, c); err != nil {
		return nil, err
	}
	sc, err := newScope(req)
	if err != nil {
		return nil, err
	}
	f, err := sc.filterOrAll(req.Doc("filter"))
	if err != nil {
		return nil, err
	}
	proj, err := sc.projection(req.Doc("projection"), f)
	if err != nil {
		return nil, err
	}
	return &plan.Query{
		DB: req.DB, Name: name, Coll: c, Filter: f, Projection: proj, ProjectionSpec: req.Doc("projection"),
		Sort: req.Doc("sort"), Skip: req.Int64("skip", 0), Limit: req.Int64("limit", 0), Hint: req.Get("hint"),
		Min: req.Doc("min"), Max: req.Doc("max"), ReturnKey: req.Bool("returnKey"), ShowRecordID: req.Bool("showRecordId"),
		AllowDiskUse: req.BoolOr("allowDiskUse", true), Tailable: req.Bool("tailable"),
	}, nil
}

// checkFind refuses options that do not go together or need what there is not.
func checkFind(req *Request, name string, c *table.Collection) error {
	if err := checkHint(req.Get("hint")); err != nil {
		return err
	}
	if err := checkCollation(req.Get("collation"), req.Get("filter"), sortOperand(req.Doc("sort"))); err != nil {
		return err
	}
	if err := checkSort(req.Doc("sort")); err != nil {
		return err
	}
	switch {
	case req.Has("ntoreturn"):
		return mongoerr.New(mongoerr.BadValue, "'ntoreturn' field is not allowed in a find command")
	}
	return checkTailable(req, name, c)
}

// filterOrAll compiles a filter that may be absent.
func (s scope) filterOrAll(doc bsonx.Doc) (*filter.Filter, error) {
	if doc == nil {
		doc = bsonx.Empty
	}
	return s.filter(doc)
}

// projection compiles a projection; nil for an absent or empty one.
func (s scope) projection(doc bsonx.Doc, f *filter.Filter) (*projection.Projection, error) {
	if doc.IsEmpty() {
		return nil, nil
	}
	opts := projection.Options{Filter: f, Vars: s.vars, Now: s.now}
	p, err := projection.Parse(doc, opts)
	if err != nil || !p.NeedsDetails() {
		return p, err
	}
	// The canonical form of the filter decides which array element the positional operator stands for.
	opts.Filter = f.Normalize()
	return projection.Parse(doc, opts)
}
