package read

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/projection"
	"github.com/sheafdb/sheaf/internal/update"
)

// Scope holds the settings with which the filters, projections and updates of one command are
// compiled.
type Scope struct {
	Vars *expr.Vars
	Now  time.Time
	// Collation is nil if strings are compared by their bytes.
	Collation *collation.Collator
	// simple says that the command itself specifies the simple collation.
	simple bool
	// Engine has the cache of collations and the counters of operators.
	Engine *Engine
	// Mistake is an error in let, which each statement reports; see newStatementScope of
	// package crud.
	Mistake error
	// Counts says that the operators of queries are counted.
	Counts bool
	// Writes says that the command is a write. As in MongoDB, its queries for one _id are not
	// counted.
	Writes bool
	// Hint replaces the command's hint, unless it is missing. A sort by $natural on a view becomes
	// such a hint.
	Hint bsonx.Value
}

// Filter compiles a query and counts its operators.
func (s Scope) Filter(doc bsonx.Doc) (*filter.Filter, error) {
	return s.counted(doc, s.filterOptions())
}

// counted compiles a query and counts its operators.
func (s Scope) counted(doc bsonx.Doc, opts filter.Options) (*filter.Filter, error) {
	f, err := filter.Parse(doc, opts)
	if err == nil && s.Counts && !(s.Writes && isPoint(doc)) {
		s.Engine.Operators.filter(doc)
	}
	return f, err
}

// filterOptions returns the options of queries. A compiled query borrows the bytes of the request.
// If a cursor keeps the query, it also keeps the bytes; see command.Request.Retain.
func (s Scope) filterOptions() filter.Options {
	opts := filter.FindOptions(s.Vars, s.Now)
	opts.Borrow, opts.Collation = true, s.Collation
	return opts
}

// filterWithoutExpr compiles array filters and the condition of $pull, which must not contain
// $expr, $where or $jsonSchema.
func (s Scope) filterWithoutExpr(doc bsonx.Doc) (*filter.Filter, error) {
	return filter.Parse(doc, filter.Options{Vars: s.Vars, Now: s.Now, Collation: s.Collation, RefuseSchema: true})
}

// FilterForUpsert compiles the query of an upsert. It refuses $expr, because a new document is
// derived from the query.
func (s Scope) FilterForUpsert(doc bsonx.Doc) (*filter.Filter, error) {
	opts := s.filterOptions()
	opts.AllowExpr, opts.Upsert = false, true
	return s.counted(doc, opts)
}

// CheckHint fails unless v is an index name, a key pattern, or missing.
func CheckHint(v bsonx.Value) error {
	switch v.Type {
	case bsonx.TypeMissing, bsonx.TypeString, bsonx.TypeDocument:
		return nil
	default:
		return mongoerr.New(mongoerr.FailedToParse, "Hint must be a string or an object")
	}
}

// CompileFilter implements update.Compiler.
func (s *Scope) CompileFilter(doc bsonx.Doc) (update.Matcher, error) { return s.filterWithoutExpr(doc) }

// CompilePipeline implements update.Compiler.
func (s *Scope) CompilePipeline(stages bsonx.Value) (update.Transformer, error) {
	t, err := pipeline.ParseUpdate(stages, parsing.Options{Vars: s.Vars, Now: s.Now, Collation: s.Collation})
	if err == nil && s.Counts {
		s.Engine.Operators.Pipeline(stages)
	}
	return t, err
}

// FilterOrAll compiles a filter. A nil filter matches everything.
func (s Scope) FilterOrAll(doc bsonx.Doc) (*filter.Filter, error) {
	if doc == nil {
		doc = bsonx.Empty
	}
	return s.Filter(doc)
}

// FirstMistake chooses the error to report if a filter failed with err. As in MongoDB, a projection
// that cannot be parsed is reported before a constant expression that cannot be computed.
func (s Scope) FirstMistake(filter, spec bsonx.Doc, err error) error {
	s.Vars = s.Vars.WithFailures(&expr.Failures{})
	f, parsing := s.FilterOrAll(filter)
	if parsing != nil || spec.IsEmpty() {
		return err
	}
	if _, mistake := projection.Parse(spec,
		projection.Options{Filter: f, Vars: s.Vars, Now: s.Now, Collation: s.Collation}); mistake != nil {
		return mistake
	}
	return err
}

// Projection compiles a projection. It returns nil if the projection is absent or empty.
func (s Scope) Projection(doc bsonx.Doc, f *filter.Filter) (*projection.Projection, error) {
	if doc.IsEmpty() {
		return nil, nil
	}
	failures := &expr.Failures{}
	opts := projection.Options{Filter: f, Vars: s.Vars.WithFailures(failures), Now: s.Now, Collation: s.Collation}
	p, err := projection.Parse(doc, opts)
	if err == nil {
		err = failures.Err()
	}
	if err != nil || !p.NeedsDetails() {
		return p, err
	}
	// The normalized filter decides which array element the positional operator stands for.
	opts.Filter = f.Normalize()
	return projection.Parse(doc, opts)
}
