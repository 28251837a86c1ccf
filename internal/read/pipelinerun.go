package read

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// OwnStages are the stages of a command. Those of an aggregate command were compiled when it was
// checked, as they stand; of other commands, and where a view or a time series adds stages before
// them, compiled is nothing.
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

// NoCollection is the name in the namespace of a cursor over no collection.
const NoCollection = "$cmd.aggregate"
