package command

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/table"
)

func aggregateCommands() []Definition {
	return []Definition{{
		Name: "aggregate", Help: "Runs a pipeline over a collection.",
		Run: runAggregate, Read: true, Write: true, API1: true,
		Fields: []Field{
			{Name: "pipeline", Type: Array, Required: true},
			{Name: "cursor", Type: Object},
			{Name: "explain", Type: SafeBool},
			{Name: "allowDiskUse", Type: SafeBool},
			{Name: "bypassDocumentValidation", Type: SafeBool},
			{Name: "hint", Type: Any},
			{Name: "let", Type: Object},
			{Name: "collation", Type: Object},
			{Name: "fromRouter", Type: SafeBool},
			{Name: "needsMerge", Type: SafeBool},
		},
	}}
}

func runAggregate(ctx context.Context, req *Request, reply *bsonx.Builder) error {
	if v := req.CommandValue(); v.Type.IsNumber() {
		return mongoerr.New(mongoerr.InvalidNamespace, "{aggregate: 1} needs a first stage that reads no collection; such stages are not supported yet")
	}
	name, err := req.Collection()
	if err != nil {
		return err
	}
	size, err := aggregateBatchSize(req)
	if err != nil {
		return err
	}
	if err := checkHint(req.Get("hint")); err != nil {
		return err
	}
	if err := checkCollation(req.Get("collation")); err != nil {
		return err
	}
	sc, err := newScope(req)
	if err != nil {
		return err
	}
	stages, target, err := splitOut(req.DB, elements(req.Get("pipeline")))
	if err != nil {
		return err
	}
	// The command's own stages are checked before a view adds its.
	if _, err := sc.parsePipeline(bsonx.ValueOf(stages)); err != nil {
		return err
	}
	if target == nil {
		return req.runStages(ctx, sc, name, stages, size, reply)
	}
	src, err := req.openStages(ctx, sc, name, stages)
	if err != nil {
		return err
	}
	if err := req.runOut(ctx, src, target); err != nil {
		return err
	}
	return replyList(ctx, req, reply, name, nil)
}

func aggregateBatchSize(req *Request) (int64, error) {
	cursor := req.Doc("cursor")
	if cursor == nil {
		if req.Bool("explain") {
			return 0, mongoerr.New(mongoerr.NotImplemented, "explain of aggregate is not supported yet")
		}
		return 0, mongoerr.New(mongoerr.FailedToParse, "The 'cursor' option is required, except for aggregate with the explain argument")
	}
	size := int64(defaultFirstBatch)
	err := ParseFields("aggregate.cursor", cursor, cursorFields, func(_ int, v bsonx.Value) error {
		size = saturatingInt64(v)
		return nil
	})
	return size, err
}

// cursorFields are the fields of a command's cursor option.
var cursorFields = []Field{{Name: "batchSize", Type: SafeInt, Check: AtLeast(0)}}

func (s scope) parsePipeline(stages bsonx.Value) (*pipeline.Pipeline, error) {
	return pipeline.Parse(stages, pipeline.Options{Vars: s.vars, Now: s.now})
}

func elements(v bsonx.Value) []bsonx.Value { return v.Doc().Values() }

// runStages runs stages over a collection or view and answers with a cursor.
func (r *Request) runStages(ctx context.Context, sc scope, name string, stages []bsonx.Value, size int64, reply *bsonx.Builder) error {
	src, err := r.openStages(ctx, sc, name, stages)
	if err != nil {
		return err
	}
	b := batch{
		req: r, field: "firstBatch", size: size, single: r.Bool("singleBatch"), source: src,
		cursor: &session.Cursor{Source: src, DB: r.DB, Collection: name, Owner: r.Owner()},
	}
	return b.first(ctx, reply)
}

// openStages plans the leading stages over the collection below all views and runs the others over the result.
func (r *Request) openStages(ctx context.Context, sc scope, name string, stages []bsonx.Value) (*stageSource, error) {
	base, c, stages := r.resolveView(name, stages)
	p, err := sc.parsePipeline(bsonx.ValueOf(stages))
	if err != nil {
		return nil, err
	}
	lead, rest := p.Split()
	f, err := sc.filterOrAll(lead.Filter)
	if err != nil {
		return nil, err
	}
	q := &plan.Query{
		DB: r.DB, Name: base, Coll: c, Filter: f, Sort: lead.Sort, Skip: lead.Skip, Limit: lead.Limit,
		Hint: r.Get("hint"), AllowDiskUse: r.BoolOr("allowDiskUse", true),
	}
	env := &pipeline.Env{AllowDiskUse: q.AllowDiskUse, Diagnostics: &reports{r.Service, r.Now, r.Conn.digest, r.DB, name}}
	if rest.OnlyCounts() {
		in, err := r.openCount(ctx, q)
		if err != nil {
			return nil, err
		}
		return &stageSource{Source: rest.Run(in, env)}, nil
	}
	in, err := openSource(ctx, r.Service, q)
	if err != nil {
		return nil, err
	}
	src := &stageSource{Source: rest.Run(in, env)}
	if rest.IsEmpty() {
		src.ended = in.done
	}
	return src, nil
}

// openCount counts what a query finds, which need not read it, for stages that ask no more.
func (r *Request) openCount(ctx context.Context, q *plan.Query) (*pipeline.EmptyDocs, error) {
	n, err := r.Service.countMatches(ctx, q)
	if err != nil {
		return nil, err
	}
	return &pipeline.EmptyDocs{N: n}, nil
}

// resolveView follows a view to its collection, and puts the stages of the views before the given ones.
func (r *Request) resolveView(name string, stages []bsonx.Value) (string, *table.Collection, []bsonx.Value) {
	for depth := 0; ; depth++ {
		c := r.Service.Store.Lookup(r.DB, name)
		if c == nil || c.Kind != catalog.KindView || depth > maxViewDepth {
			return name, c, stages
		}
		stages = slices.Concat(elements(c.Options.Lookup("pipeline")), stages)
		name = c.Options.Lookup("viewOn").Str()
	}
}

// stageSource is a cursor over a pipeline.
type stageSource struct {
	pipeline.Source
	// ended reports whether the input is known to be at its end; nil where stages stand above it.
	ended func() bool
}

func (s *stageSource) done() bool { return s.ended != nil && s.ended() }
