package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// step is a stage with its name, as it was written.
type step struct {
	name string
	spec bsonx.Value
	parsing.Stage
}

// Pipeline is a compiled pipeline.
type Pipeline struct {
	steps []step
	opts  parsing.Options
}

// Writes reports whether the pipeline ends with a stage that writes.
func (p *Pipeline) Writes() bool {
	return len(p.steps) > 0 && Writes(p.steps[len(p.steps)-1].name)
}
