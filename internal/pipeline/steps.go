package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// step is a compiled stage with the name and argument that the client wrote.
type step struct {
	name string
	spec bsonx.Value
	parsing.Stage
}

// Pipeline is a compiled pipeline. It is immutable.
type Pipeline struct {
	steps []step
	opts  parsing.Options
}

// Writes reports whether the last stage writes to a collection.
func (p *Pipeline) Writes() bool {
	return len(p.steps) > 0 && Writes(p.steps[len(p.steps)-1].name)
}
