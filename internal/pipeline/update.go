package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// Transformer is the compiled pipeline of an update, which turns one document into one document. It
// is immutable.
type Transformer struct {
	stages  []transformer
	running *interrupt.Running // signals interrupts of the operation; nil never does
}

// transformer is a stage that yields exactly one document for each input document.
type transformer interface {
	transform(doc bsonx.Doc) (bsonx.Doc, error)
}

// ParseUpdate compiles the pipeline of an update, which may have only $addFields, $set, $project,
// $unset, $replaceRoot and $replaceWith.
func ParseUpdate(stages bsonx.Value, opts parsing.Options) (*Transformer, error) {
	p, err := parse(stages, opts, func(def *parsing.Definition) error {
		if def.Updates == feature.Yes {
			return nil
		}
		return mongoerr.New(mongoerr.InvalidOptions, "%s is not allowed to be used within an update", def.Name)
	})
	if err != nil {
		return nil, err
	}
	t := &Transformer{running: opts.Vars.Scripts().Running}
	for _, s := range p.steps {
		t.stages = append(t.stages, s.Stage.(transformer))
	}
	return t, nil
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
		if doc, err = s.transform(doc); err != nil {
			return nil, err
		}
	}
	return doc, nil
}
