package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// The stages of a change stream.
const (
	changeStreamStage = "$changeStream"
	splitStage        = "$changeStreamSplitLargeEvent"
)

// changeStream stands for the events that the pipeline is run over, and for the parts of them at its end; who runs it makes them.
type changeStream struct{}

func (changeStream) Open(src source.Source, _ *source.Env) source.Source { return src }

func changeStreamDefinition() parsing.Definition {
	properties := parsing.OfEachDocument()
	properties.Input = parsing.FromChanges
	properties.Joined = feature.No
	properties.Facets = feature.No
	properties.Transactions = feature.No
	properties.ReadConcern = parsing.OnlyMajority
	return parsing.Definition{Name: changeStreamStage, Parse: parseChangeStream, Properties: properties, Inside: parsing.InsideNothing}
}

func parseChangeStream(arg bsonx.Value, _ parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(6188500, "$changeStream must take a nested object but found: $changeStream: %s", bsonx.FormatShell(arg))
	}
	return []parsing.Stage{changeStream{}}, nil
}

func splitLargeEventDefinition() parsing.Definition {
	properties := parsing.OfEachDocument()
	properties.Joined = feature.No
	properties.Facets = feature.No
	properties.ChangeStreams = parsing.OnlyLastInStream
	return parsing.Definition{Name: splitStage, Parse: parseSplitLargeEvent, Properties: properties, Inside: parsing.InsideNothing}
}

func parseSplitLargeEvent(arg bsonx.Value, _ parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument || !arg.Doc().IsEmpty() {
		return nil, mongoerr.New(7182800, "%s spec should be an empty object", splitStage)
	}
	return []parsing.Stage{changeStream{}}, nil
}

// SplitsLargeEvents reports whether the events of a change stream are to be split. Who runs the pipeline does it.
func (p *Pipeline) SplitsLargeEvents() bool {
	return len(p.steps) > 0 && p.steps[len(p.steps)-1].name == splitStage
}

// IsChangeStream reports whether an array of stages begins with a change stream, and returns what that asks for.
func IsChangeStream(stages bsonx.Value) (arg bsonx.Value, ok bool) {
	if stages.Type != bsonx.TypeArray || parsing.FirstStage(stages.Doc()) != changeStreamStage {
		return bsonx.Missing, false
	}
	return stages.Doc().First().Value.Doc().First().Value, true
}
