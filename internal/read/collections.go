package read

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// Pipelines runs the pipeline of a command, and the pipelines that its stages run over other
// collections. A cursor keeps it, so it outlives the request.
type Pipelines struct {
	Reads
	Now          time.Time
	allowDiskUse bool
	user         [32]byte    // digest of the client's user
	hint         bsonx.Value // hint for the command's own collection
	Collation    *collation.Collator
	simple       bool              // the command specifies the simple collation
	Begun        table.CatalogView // state of the catalog before anything was read
	Writer       source.Writer     // used by $out and $merge; nil if these stages may not write
	depth        int               // number of enclosing stages
	viewBytes    int64             // size of the stages that views have put before the pipeline

	// The next two fields are for a pipeline that is explained. Verbosity is the level of detail.
	Verbosity explain.Verbosity
	examined  *source.Examined // counts the reads of the stages; may be nil
}

// collationSpec returns the pipeline's collation as messages show it: with all its fields, even if
// it is the default of the collection.
func (p *Pipelines) collationSpec() bsonx.Doc {
	if p.simple {
		return bsonx.NewDoc("locale", "simple")
	}
	return p.Collation.Spec()
}

// PipelineOptions are the options of a command for the pipelines that it runs.
type PipelineOptions struct {
	AllowDiskUse bool
	// Hint is the command's hint. A hint of the Scope takes precedence.
	Hint bsonx.Value
	// User is the digest of the client's user.
	User [32]byte
}

// Pipelines returns a runner for the pipelines of a command.
func (v Reads) Pipelines(sc Scope, opts PipelineOptions) *Pipelines {
	hint := sc.Hint
	if hint.IsMissing() {
		hint = opts.Hint
	}
	return &Pipelines{
		Reads: v, Now: sc.Now, Collation: sc.Collation, simple: sc.simple, allowDiskUse: opts.AllowDiskUse,
		hint: hint, user: opts.User, Begun: v.Engine.Store.Catalog().View(),
	}
}

// Open implements source.Collections.
func (p *Pipelines) Open(ctx context.Context, db, name string, stages []bsonx.Value,
	vars *expr.Vars,
) (source.Source, error) {
	inner := *p
	inner.depth++
	inner.hint, inner.meant = bsonx.Missing, nil
	if inner.depth > limits.SubPipelineDepth {
		return nil, mongoerr.New(mongoerr.MaxSubPipelineDepthExceeded, "Maximum number of nested sub-pipelines exceeded. Limit is %d", limits.SubPipelineDepth)
	}
	switch c, err := inner.Lookup(db, name); {
	case err != nil:
		return nil, err
	case IsView(c) && !c.Collation.Same(p.Collation):
		return nil, overridesView(c)
	}
	counted := memory.Of(ctx).Begin()
	src, err := inner.OpenOwn(ctx, db, name, OwnStages{List: stages}, vars)
	if err != nil {
		counted.Release()
		return nil, err // a nil *StageSource in the interface would not be a nil Source
	}
	counted.End()
	src.counted = counted
	return src, nil
}

// Indexed implements source.Collections.
func (p *Pipelines) Indexed(db, name, path string, scalars bool) bool {
	_, c, _, err := p.resolveView(db, name, nil)
	if err != nil || c == nil || c.Kind != catalog.KindCollection {
		return false
	}
	return path == "_id" || slices.ContainsFunc(c.Indexes, func(ix *table.Index) bool {
		finds := false
		switch first := ix.Pattern[0]; {
		case first.Kind.Definition().Equality == feature.Yes:
			finds = first.Path == path && (scalars || !ix.Sparse)
		case first.Kind == index.Wildcard:
			finds = scalars && index.NewWildcardPaths(ix.Key, ix.Spec).Has(path)
		}
		return finds && ix.PartialFilter == nil && ix.Ready && !ix.Hidden
	})
}

// OpenOwn plans the leading stages as a query on the collection below all views, and runs the other
// stages over its result. If there is no name, the first stage produces the documents.
func (p *Pipelines) OpenOwn(ctx context.Context, db, name string, own OwnStages,
	vars *expr.Vars,
) (*StageSource, error) {
	rest, env, q, err := p.Compile(db, name, own, vars)
	if err != nil {
		return nil, err
	}
	if q == nil {
		return &StageSource{Source: rest.Run(&source.EmptyDocs{}, env)}, nil
	}
	if IsVirtual(q.Coll) {
		return &StageSource{Source: rest.Run(p.Engine.Virtual(q.Coll, p.local), env)}, nil
	}
	if rest.OnlyCounts() {
		n, err := p.CountMatches(ctx, q)
		if err != nil {
			return nil, err
		}
		return &StageSource{Source: rest.Run(&source.EmptyDocs{N: n, Searched: q.Filter.HasText()}, env)}, nil
	}
	if rest, err = p.project(q, rest); err != nil {
		return nil, err
	}
	in, err := OpenSource(ctx, p.Reads, q)
	if err != nil {
		return nil, err
	}
	if p.examined != nil {
		return &StageSource{Source: rest.Run(&examinedSource{in, p.examined}, env)}, nil
	}
	src := &StageSource{Source: rest.Run(in, env), Plan: in.Run, views: session.CommandShare * p.viewBytes}
	if rest.IsEmpty() {
		src.ended = in.IsDone
	}
	return src, nil
}

// project pushes a projection into a query: either the projection that the stages begin with, or a
// projection to the fields that the stages read. It returns the remaining stages.
func (p *Pipelines) project(q *query.Query, rest *pipeline.Pipeline) (*pipeline.Pipeline, error) {
	pushed, left := rest.SplitMeta()
	switch {
	case pushed != nil && q.RowMeta == (query.RowMeta{}):
		q.Projection, q.ProjectionSpec = pushed.Projection, pushed.Spec
		return left, q.CheckMeta()
	case pushed != nil && !pushed.Projection.IsAddition() && q.Located == nil && q.Skip == 0 && q.Limit == 0:
		asked := *q
		asked.Projection = pushed.Projection
		return rest, asked.CheckMeta()
	case q.RowMeta == (query.RowMeta{}):
		q.Projection, q.ProjectionSpec = rest.Needs()
		q.OptionalProjection = true
	}
	return rest, nil
}

// Compile returns the query that the stages begin with, on the collection below all views, and the
// remaining stages. The query is nil if there is no name: then the first stage produces the
// documents.
func (p *Pipelines) Compile(db, name string, own OwnStages, vars *expr.Vars) (*pipeline.Pipeline,
	*source.Env, *query.Query, error,
) {
	reported := name
	if p.statsOfView(db, name, own.List) {
		name = ""
	}
	base, c, stages, err := p.resolveView(db, name, own.List)
	if err != nil {
		return nil, nil, nil, err
	}
	p.viewBytes = 0
	for _, s := range stages[:len(stages)-len(own.List)] {
		p.viewBytes += int64(len(s.Data))
	}
	if p.depth == 0 && p.Verbosity == "" {
		p.Engine.Operators.stagesOf(stages[:len(stages)-len(own.List)])
	}
	hint := p.hint
	if c != nil && c.Kind == catalog.KindTimeseries {
		if c, err = p.Buckets(c); err != nil {
			return nil, nil, nil, err
		}
		if c != nil {
			base, stages, own.Compiled = c.Name, unpack(c, stages, vars, p), nil
			hint = BucketHint(c.Timeseries, hint)
		}
	}
	disabled := p.Engine.DisabledRules()
	if p.Verbosity != "" {
		disabled |= pipeline.HiddenRules
	}
	if len(stages) > len(own.List) || own.Compiled == nil {
		opts := parsing.Options{Vars: vars, Now: p.Now, DB: db, Collation: p.Collation}
		if own.Compiled, err = pipeline.Compile(bsonx.ValueOf(stages), opts); err != nil {
			return nil, nil, nil, err
		}
	}
	parsed := own.Compiled.Optimized(disabled)
	env := &source.Env{
		Collections: p, Writer: p.Writer,
		Diagnostics:  p.Engine.Diagnostics(Subject{p.local, p.Now, p.user, db, cmp.Or(base, reported)}),
		AllowDiskUse: p.allowDiskUse, Budgets: p.Engine.Budgets.get(),
		Memory: p.Engine.Memory, TempDir: p.Engine.TempDir,
		Sorts: func(ctx context.Context) { storage.ReportWork(ctx, storage.PlanWork{Sorts: true}) },
	}
	if name == "" || p.Verbosity == "" && hint.IsMissing() && !IsVirtual(c) && reportsFirst(stages) {
		return parsed, env, nil, nil
	}
	if IsVirtual(c) {
		return parsed, env, &query.Query{DB: db, Name: base, Coll: c}, checkVirtualHint(hint)
	}
	lead, rest := parsed.Split()
	q := &query.Query{
		DB: db, Name: base, Coll: c, Sort: lead.Sort, Skip: lead.Skip, Limit: lead.Limit, Hint: hint,
		Collation: p.Collation, AllowDiskUse: p.allowDiskUse,
		CollationSpec: p.collationSpec(),
	}
	if !lead.Filter.IsEmpty() {
		opts := filter.FindOptions(vars, p.Now)
		opts.Borrow, opts.Collation = true, p.Collation
		if q.Filter, err = filter.Parse(lead.Filter, opts); err != nil {
			return nil, nil, nil, err
		}
	}
	if err := pipeline.CheckMeta(stages, lead.Near != nil, q.Filter.HasText()); err != nil {
		return nil, nil, nil, err
	}
	q.RowMeta = query.RowMeta{
		SortKey: pipeline.NamesMeta(stages, query.MetaSortKey), RecordID: pipeline.NamesMeta(stages, "recordId"),
	}
	if lead.Near != nil {
		if err := p.locate(q, lead.Near, vars); err != nil {
			return nil, nil, nil, err
		}
		return rest, env, q, nil
	}
	q.OneOf, q.LastOf = rest.OneOf(lead)
	q.Scores = q.Filter.HasText() && pipeline.NamesMeta(stages, query.MetaTextScore)
	q.IndexKeys = pipeline.NamesMeta(stages, indexKey)
	return rest, env, q, nil
}

// reportsFirst reports whether the first stage describes the collection and does not read its
// documents.
func reportsFirst(stages []bsonx.Value) bool {
	first := pipeline.First(stages)
	return first != nil && (first.Input == parsing.FromStatistics || first.Input == parsing.FromViewStatistics)
}

// statsOfView reports whether the stages request statistics of a view, which differ from the
// statistics of its collection.
func (p *Pipelines) statsOfView(db, name string, stages []bsonx.Value) bool {
	if first := pipeline.First(stages); first == nil || first.Input != parsing.FromViewStatistics {
		return false
	}
	c, err := p.Lookup(db, name)
	return err == nil && c != nil && c.Kind == catalog.KindView
}

// indexKey is the metadata that holds the index entry by which a document was found.
const indexKey = "indexKey"

// StageSource is the source of a cursor over a pipeline.
type StageSource struct {
	source.Source
	// ended reports whether the input is known to be at its end. It is nil if there are stages
	// above the input.
	ended func(context.Context) bool
	// Plan reads the collection. It is nil if no collection is read.
	Plan session.PlanSummary
	// views estimates the memory of the stages that views have put before the command's stages.
	views int64
	// counted is the memory that was counted while the stages of a sub-pipeline were compiled. The
	// first Save releases it; from then on kept has its size.
	counted memory.Part
	kept    int64
}

// Save implements session.Source.
func (s *StageSource) Save() {
	s.Source.Save()
	s.kept += s.counted.Release()
}

// Close implements session.Source.
func (s *StageSource) Close() {
	s.Source.Close()
	s.counted.Release()
}

// Kept implements memory.Keeper.
func (s *StageSource) Kept() int64 { return s.views + s.kept + memory.KeptBy(s.Source) }

// Meta implements source.MetaSource.
func (s *StageSource) Meta() *expr.Meta {
	if m, ok := s.Source.(source.MetaSource); ok {
		return m.Meta()
	}
	return nil
}

// IsDone implements Ender.
func (s *StageSource) IsDone(ctx context.Context) bool { return s.ended != nil && s.ended(ctx) }

// Next implements session.Source.
func (s *StageSource) Next(ctx context.Context) (bsonx.Doc, error) {
	doc, err := s.Source.Next(ctx)
	if err != nil {
		return nil, err
	}
	return doc, doc.CheckResult()
}

// examinedSource adds the reads of a plan to examined when it is closed.
type examinedSource struct {
	*PlanSource
	examined *source.Examined
}

// Close implements source.Source.
func (s *examinedSource) Close() {
	keys, docs := s.Run.Examined()
	scans, indexes := s.Run.Access()
	s.examined.Add(int64(docs), int64(keys), int64(scans), indexes)
	s.PlanSource.Close()
}
