package parsing

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/projection"
)

// Options describe the surroundings of a pipeline.
type Options struct {
	// Vars is the scope of expressions. If it is nil, there are only the system variables.
	Vars *expr.Vars
	// Now is the value of $$NOW.
	Now time.Time
	// Collation compares strings; nil means binary comparison.
	Collation *collation.Collator
	// AllowWhere permits $where in $match, which MongoDB rejects.
	AllowWhere bool
	// Disable is the set of optimiser rules that are not applied.
	Disable Rule

	// DB is the database of collections that a stage names without a database.
	DB string
	// Top is the kind of target that the pipeline runs over.
	Top Top

	// first is true if the stage being compiled is the first in its pipeline.
	first bool
	// inside is the kind of stage whose sub-pipeline is being compiled.
	inside  Parent
	depth   int // the number of enclosing stages with sub-pipelines
	parsers Parsers
}

// Projection returns the options for compiling a projection in the pipeline.
func (o *Options) Projection() projection.Options {
	return projection.Options{Vars: o.Vars, Now: o.Now, Collation: o.Collation}
}

// Stage is a compiled stage. It is immutable.
type Stage interface {
	// Open returns a source of the stage's results for the documents of src.
	Open(src source.Source, env *source.Env) source.Source
	// Explain returns the form in which MongoDB's explain shows the stage, which may be several
	// stages.
	Explain(ctx context.Context, x *Explaining) ([]Form, error)
}

// Transformer is a stage that yields exactly one document for each input document.
type Transformer interface {
	Stage
	// Transform returns the result for a document, which may be doc itself.
	Transform(doc bsonx.Doc) (bsonx.Doc, error)
}

// ParseSub compiles the pipeline inside a stage. It fails if sub-pipelines are nested too deeply.
func ParseSub(stages bsonx.Value, opts Options, top Top, inside Parent) (source.Runner, error) {
	opts.depth++
	if opts.depth > limits.SubPipelineDepth {
		return nil, mongoerr.New(mongoerr.MaxSubPipelineDepthExceeded, "Maximum number of nested sub-pipelines exceeded. Limit is %d", limits.SubPipelineDepth)
	}
	opts.inside, opts.Top = inside|opts.inside&InFacet, top
	return opts.parsers.Parse(stages, opts)
}

// First reports whether the stage being compiled is the first in its pipeline.
func (o *Options) First() bool { return o.first }

// InFacet reports whether the stage being compiled is inside a $facet, at any depth.
func (o *Options) InFacet() bool { return o.inside&InFacet != 0 }

// Inside reports whether the pipeline being compiled belongs to a stage of the given kind.
func (o *Options) Inside(kind Parent) bool { return o.inside&kind != 0 }

// IsRepeatable reports whether stages give the same results when they run again.
func (o *Options) IsRepeatable(stages bsonx.Value) bool {
	return o.parsers.IsRepeatable(stages, o.Vars.Operators())
}

// CheckNames returns an error for the first stage whose name is unknown.
func (o *Options) CheckNames(stages bsonx.Value) error { return o.parsers.CheckNames(stages) }

// With returns the options for compiling a stage. first is true if the stage is the first in its
// pipeline.
func (o Options) With(p Parsers, first bool) Options {
	o.parsers, o.first = p, first
	return o
}

// Parsers contains the functions that compile sub-pipelines. Stages call them through Options,
// because a direct call would be an initialization cycle: the functions read the table of stages,
// which refers to the stages.
type Parsers struct {
	Parse func(stages bsonx.Value, opts Options) (source.Runner, error)
	// CheckNames returns an error for the first stage whose name is unknown.
	CheckNames func(stages bsonx.Value) error
	// IsRepeatable reports whether stages give the same results when they run again.
	IsRepeatable func(stages bsonx.Value, operators *expr.Table) bool
}
