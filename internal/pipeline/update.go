package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// Transformer is the compiled pipeline of an update, which turns one document into one document. It
// is immutable.
type Transformer struct {
	stages  []parsing.Transformer
	running *interrupt.Running // signals interrupts of the operation; nil never does
}

// ParseUpdate compiles the pipeline of an update, which may have only the stages with a Transform:
// $addFields, $set, $project, $unset, $replaceRoot and $replaceWith.
func ParseUpdate(stages bsonx.Value, opts parsing.Options) (*Transformer, error) {
	t := &Transformer{running: opts.Vars.Scripts().Running}
	_, err := parse(stages, opts, t.compile)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// compile implements compiler.
func (t *Transformer) compile(def *parsing.Definition, arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	if def.Transform == nil {
		return nil, mongoerr.New(mongoerr.InvalidOptions, "%s is not allowed to be used within an update", def.Name)
	}
	s, err := def.Transform(arg, opts)
	if err != nil {
		return nil, err
	}
	t.stages = append(t.stages, s)
	return []parsing.Stage{s}, nil
}

// Apply returns the transformed document, which may be doc itself. It fails if a stage fails or the
// operation is interrupted.
func (t *Transformer) Apply(doc bsonx.Doc) (bsonx.Doc, error) {
	var meter interrupt.Meter
	for _, s := range t.stages {
		err := meter.Did(interrupt.Document+len(doc), t.running)
		if err != nil {
			return nil, err
		}
		if doc, err = s.Transform(doc); err != nil {
			return nil, err
		}
	}
	return doc, nil
}
