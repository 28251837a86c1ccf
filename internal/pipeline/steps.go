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
