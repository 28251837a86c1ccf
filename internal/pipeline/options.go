package pipeline

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
	inside parent
	depth  int
	nested nested
}

func (o *Options) projection() projection.Options {
	return projection.Options{Vars: o.Vars, Now: o.Now, Collation: o.Collation}
}

// stage is a compiled stage.
type stage interface {
	// open returns the stage's results over a source.
	open(src source.Source, env *source.Env) source.Source
}

// parseSub compiles the pipeline inside a stage.
func parseSub(stages bsonx.Value, opts Options, top Top, inside parent) (*Pipeline, error) {
	opts.depth++
	if opts.depth > limits.SubPipelineDepth {
		return nil, mongoerr.New(mongoerr.MaxSubPipelineDepthExceeded, "Maximum number of nested sub-pipelines exceeded. Limit is %d", limits.SubPipelineDepth)
	}
	opts.inside, opts.Top = inside|opts.inside&inFacet, top
	return opts.nested.parse(stages, opts)
}

// nested are the parsers of pipelines inside stages. They stand in Options because the table of stages, which they
// read, refers to the stages that call them.
type nested struct {
	parse func(stages bsonx.Value, opts Options) (*Pipeline, error)
	names func(stages bsonx.Value) error // checks that there are such stages
}
