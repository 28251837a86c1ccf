package read

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// OwnStages are the stages of a command. Compiled is set for an aggregate command, which was
// compiled when it was checked. It is nil for other commands, and if a view or a time series adds
// stages before List.
type OwnStages struct {
	List     []bsonx.Value
	Compiled *pipeline.Pipeline
}

// ParsePipeline compiles a pipeline of a database.
func (s Scope) ParsePipeline(db string, stages bsonx.Value, top parsing.Top) (*pipeline.Pipeline, error) {
	return pipeline.Parse(stages, s.PipelineOptions(db, top))
}

// PipelineOptions returns the options for compiling a pipeline of a database.
func (s Scope) PipelineOptions(db string, top parsing.Top) parsing.Options {
	return parsing.Options{Vars: s.Vars, Now: s.Now, DB: db, Top: top, Collation: s.Collation}
}

// Elements returns the elements of an array.
func Elements(v bsonx.Value) []bsonx.Value { return v.Doc().Values() }

// NoCollection is the collection name in the namespace of a cursor without a collection.
const NoCollection = "$cmd.aggregate"
