package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// changeStream stands for the events that the pipeline is run over, and for the parts of them at its end; who runs it makes them.
type changeStream struct{}

func (changeStream) Open(src source.Source, _ *source.Env) source.Source { return src }

func parseChangeStream(arg bsonx.Value, _ parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(6188500, "$changeStream must take a nested object but found: $changeStream: %s", bsonx.FormatShell(arg))
	}
	return []parsing.Stage{changeStream{}}, nil
}

func parseSplitLargeEvent(arg bsonx.Value, _ parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument || !arg.Doc().IsEmpty() {
		return nil, mongoerr.New(7182800, "%s spec should be an empty object", parsing.SplitStage)
	}
	return []parsing.Stage{changeStream{}}, nil
}

// SplitsLargeEvents reports whether the events of a change stream are to be split. Who runs the pipeline does it.
func (p *Pipeline) SplitsLargeEvents() bool {
	return len(p.steps) > 0 && p.steps[len(p.steps)-1].name == parsing.SplitStage
}

// IsChangeStream reports whether an array of stages begins with a change stream, and returns what that asks for.
func IsChangeStream(stages bsonx.Value) (arg bsonx.Value, ok bool) {
	if stages.Type != bsonx.TypeArray || parsing.FirstStage(stages.Doc()) != parsing.ChangeStreamStage {
		return bsonx.Missing, false
	}
	return stages.Doc().First().Value.Doc().First().Value, true
}
