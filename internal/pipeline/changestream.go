package pipeline

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// Names of the stages that exist only in change streams.
const (
	changeStreamStage = "$changeStream"
	splitStage        = "$changeStreamSplitLargeEvent"
)

// changeStream is $changeStream or $changeStreamSplitLargeEvent. Both pass documents on unchanged:
// the command that runs the pipeline produces the events, and splits large ones after the last
// stage.
type changeStream struct{}

func (changeStream) Open(src source.Source, _ *source.Env) source.Source { return src }

func changeStreamDefinition() parsing.Definition {
	properties := parsing.OfEachDocument()
	properties.Input = parsing.FromChanges
	properties.Joined = feature.No
	properties.Facets = feature.No
	properties.ReadConcern = parsing.OnlyMajority
	return parsing.Definition{
		Name: changeStreamStage, Parse: parseChangeStream, Properties: properties,
		Safety: parsing.Safety{Writes: feature.No, Transactions: feature.No, StableAPI: parsing.EveryUse},
		Inside: parsing.InsideNothing,
	}
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
	return parsing.Definition{
		Name: splitStage, Parse: parseSplitLargeEvent, Properties: properties,
		Safety: parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Inside: parsing.InsideNothing,
	}
}

func parseSplitLargeEvent(arg bsonx.Value, _ parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument || !arg.Doc().IsEmpty() {
		return nil, mongoerr.New(7182800, "%s spec should be an empty object", splitStage)
	}
	return []parsing.Stage{changeStream{}}, nil
}

// SplitsLargeEvents reports whether the pipeline ends with $changeStreamSplitLargeEvent. The caller
// that runs the pipeline must then split large events.
func (p *Pipeline) SplitsLargeEvents() bool {
	return len(p.steps) > 0 && p.steps[len(p.steps)-1].name == splitStage
}

// IsChangeStream reports whether an array of stages begins with $changeStream, and returns the
// argument of that stage.
func IsChangeStream(stages bsonx.Value) (arg bsonx.Value, ok bool) {
	if stages.Type != bsonx.TypeArray || parsing.FirstStage(stages.Doc()) != changeStreamStage {
		return bsonx.Missing, false
	}
	return stages.Doc().First().Value.Doc().First().Value, true
}

// Explain implements parsing.Stage.
func (changeStream) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	return x.AsWritten(), nil
}
