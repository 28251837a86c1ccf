package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// Parse compiles an array of stages and optimises the pipeline.
func Parse(stages bsonx.Value, opts parsing.Options) (*Pipeline, error) {
	p, err := Compile(stages, opts)
	if err != nil {
		return nil, err
	}
	return p.Optimized(opts.Disable), nil
}

// Optimized returns a copy of the pipeline to which all optimiser rules except the disabled ones
// were applied.
func (p *Pipeline) Optimized(disabled parsing.Rule) *Pipeline {
	out := *p
	out.opts.Disable = disabled
	out.steps = optimize(p.steps, disabled)
	return &out
}

// Compile compiles an array of stages without optimising them. stages must not change while the
// pipeline is in use. Like MongoDB, it evaluates constant expressions and fails if one of them
// does, even if no document would reach it. If the scope has Failures, it records the error there
// instead.
func Compile(stages bsonx.Value, opts parsing.Options) (*Pipeline, error) {
	outer, failures := opts.Vars.Failures(), &expr.Failures{}
	opts.Vars = opts.Vars.WithFailures(failures)
	p, err := parse(stages, opts, compileStage)
	if err != nil {
		return nil, err
	}
	if err := failures.Err(); err != nil {
		err = mongoerr.Within("Failed to optimize pipeline", err)
		if outer == nil {
			return nil, err
		}
		outer.Add(err)
	}
	return p, nil
}

// parse compiles each stage with compile.
func parse(stages bsonx.Value, opts parsing.Options, compile compiler) (*Pipeline, error) {
	if stages.Type != bsonx.TypeArray {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "'pipeline' option must be specified as an array")
	}
	opts.Collation = opts.Collation.Serving(opts.Vars.Scripts().Running)
	p := &Pipeline{opts: opts}
	var defs []*parsing.Definition
	parsers := parsing.Parsers{Parse: parseNested, CheckNames: checkNames, IsRepeatable: isRepeatable}
	for it := stages.Doc().Iter(); it.Next(); {
		if len(p.steps) == limits.PipelineStages {
			return nil, mongoerr.New(7749501, "Pipeline length must be no longer than %d stages", limits.PipelineStages)
		}
		if it.Value().Type != bsonx.TypeDocument {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "Each element of the 'pipeline' array must be an object")
		}
		opts = opts.With(parsers, len(p.steps) == 0)
		def, steps, err := parseStage(it.Value().Doc(), opts, compile)
		if err != nil {
			return nil, err
		}
		defs = append(defs, def)
		p.steps = append(p.steps, steps...)
		if err := opts.Vars.Scripts().Running.Err(); err != nil {
			return nil, err
		}
	}
	p.steps = dropSorts(p.steps)
	noteSortKeys(p.steps, stages)
	return p, checkPlaces(&opts, defs)
}

// parseNested compiles and optimises a sub-pipeline of a stage.
func parseNested(stages bsonx.Value, opts parsing.Options) (source.Runner, error) {
	p, err := Parse(stages, opts)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// checkNames returns an error for the first stage whose name is unknown.
func checkNames(stages bsonx.Value) error {
	for it := stages.Doc().Iter(); it.Next(); {
		if it.Value().Type != bsonx.TypeDocument {
			return mongoerr.New(mongoerr.TypeMismatch, "Each element of the 'pipeline' array must be an object")
		}
		if _, err := definitionOf(it.Value().Doc()); err != nil {
			return err
		}
	}
	return nil
}

func definitionOf(spec bsonx.Doc) (*parsing.Definition, error) {
	if spec.Len() != 1 {
		return nil, mongoerr.New(40323, "A pipeline stage specification object must contain exactly one field.")
	}
	name := string(spec.First().Key)
	def := Find(name)
	if def == nil {
		return nil, mongoerr.New(40324, "Unrecognized pipeline stage name: '%s'", name)
	}
	return def, nil
}

// compiler compiles a use of a stage with the argument arg.
type compiler func(def *parsing.Definition, arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error)

// compileStage is the compiler of all pipelines except updates.
func compileStage(def *parsing.Definition, arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	switch {
	case def.Refuse != nil:
		return nil, def.Refuse
	case def.Transform != nil:
		s, err := def.Transform(arg, opts)
		if err != nil {
			return nil, err
		}
		return []parsing.Stage{s}, nil
	case def.Parse != nil:
		return def.Parse(arg, opts)
	default:
		return nil, mongoerr.New(mongoerr.NotImplemented, "the stage %s is not implemented", def.Name)
	}
}

func parseStage(spec bsonx.Doc, opts parsing.Options, compile compiler) (*parsing.Definition, []step, error) {
	def, err := definitionOf(spec)
	if err != nil {
		return nil, nil, err
	}
	name, arg := string(spec.First().Key), spec.First().Value
	stages, err := compile(def, arg, opts)
	if err != nil {
		return nil, nil, err
	}
	steps := make([]step, len(stages))
	for i, s := range stages {
		steps[i] = step{name, arg.Clone(), s}
	}
	return def, steps, nil
}

// Run returns a source of the pipeline's results for the documents of src. Closing the result
// closes src. With a nil env the pipeline has no collections and default limits. Several goroutines
// may read src if it is a source.Shared.
func (p *Pipeline) Run(src source.Source, env *source.Env) source.Source {
	steps := p.steps
	if p.opts.Disable&parsing.RuleParallel == 0 {
		src, steps = share(steps, src, env, p.opts.Vars.Operators())
	}
	return open(steps, src, env)
}

// IsEmpty reports whether the pipeline passes its documents on unchanged.
func (p *Pipeline) IsEmpty() bool { return len(p.steps) == 0 }

// Stages returns the names of the stages, in order. A stage that compiles into several appears once
// for each.
func (p *Pipeline) Stages() []string {
	names := make([]string, len(p.steps))
	for i, s := range p.steps {
		names[i] = s.name
	}
	return names
}
