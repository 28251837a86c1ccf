package parsing

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/projection"
)

// Options are the surroundings of a pipeline.
type Options struct {
	// Vars is the scope of expressions; nil has the system variables only.
	Vars *expr.Vars
	// Now is the value of $$NOW.
	Now time.Time
	// Collation compares strings; nil compares bytes.
	Collation *collation.Collator
	// AllowWhere allows $where in $match, which MongoDB does not.
	AllowWhere bool
	// Disable has the rules of the optimiser that are not applied.
	Disable Rule

	// DB is the database of the collections that stages name without one.
	DB string
	// Top says what the pipeline is run over.
	Top Top

	// first says that the stage that is being parsed is the first one.
	first bool
	// inside is the stage whose sub-pipeline is being parsed, depth how many such stages there are around it.
	inside  Parent
	depth   int
	parsers Parsers
}

// Projection returns the options of an expression or projection in the pipeline.
func (o *Options) Projection() projection.Options {
	return projection.Options{Vars: o.Vars, Now: o.Now, Collation: o.Collation}
}

// Stage is a compiled stage.
type Stage interface {
	// Open returns the stage's results over a source.
	Open(src source.Source, env *source.Env) source.Source
}

// ParseSub compiles the pipeline inside a stage.
func ParseSub(stages bsonx.Value, opts Options, top Top, inside Parent) (source.Runner, error) {
	opts.depth++
	if opts.depth > limits.SubPipelineDepth {
		return nil, mongoerr.New(mongoerr.MaxSubPipelineDepthExceeded, "Maximum number of nested sub-pipelines exceeded. Limit is %d", limits.SubPipelineDepth)
	}
	opts.inside, opts.Top = inside|opts.inside&InFacet, top
	return opts.parsers.Parse(stages, opts)
}

// First reports whether the stage that is being parsed is the first one.
func (o *Options) First() bool { return o.first }

// InFacet reports whether the stage that is being parsed is in a $facet.
func (o *Options) InFacet() bool { return o.inside&InFacet != 0 }

// Inside reports whether the pipeline that is being parsed belongs to a kind of stage.
func (o *Options) Inside(kind Parent) bool { return o.inside&kind != 0 }

// IsRepeatable reports whether stages answer the same when they are run again.
func (o *Options) IsRepeatable(stages bsonx.Value) bool {
	return o.parsers.IsRepeatable(stages, o.Vars.Operators())
}

// CheckNames reports the first of some stages that has no known name.
func (o *Options) CheckNames(stages bsonx.Value) error { return o.parsers.CheckNames(stages) }

// With returns the options of a stage, which is the first one or not.
func (o Options) With(p Parsers, first bool) Options {
	o.parsers, o.first = p, first
	return o
}

// Parsers parse the pipelines inside stages. They stand in Options because the table of stages,
// which they read, refers to the stages that call them.
type Parsers struct {
	Parse      func(stages bsonx.Value, opts Options) (source.Runner, error)
	CheckNames func(stages bsonx.Value) error // checks that there are such stages
	// IsRepeatable reports whether stages answer the same when they are run again.
	IsRepeatable func(stages bsonx.Value, operators *expr.Table) bool
}
