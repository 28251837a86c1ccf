package pipeline

import (
	"context"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// skip is the $skip stage.
type skip struct{ n int64 }

func skipDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$skip", Parse: parseSkip,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfDocuments(), Inside: parsing.InsideNothing,
	}
}

func parseSkip(arg bsonx.Value, _ parsing.Options) ([]parsing.Stage, error) {
	n, err := nonNegative(arg, "skip", 5107200)
	if err != nil {
		return nil, err
	}
	return []parsing.Stage{&skip{n}}, nil
}

func (s *skip) Open(src source.Source, _ *source.Env) source.Source {
	return &skipSource{source.Input{Src: src}, s.n}
}

type skipSource struct {
	source.Input
	left int64
}

func (s *skipSource) Next(ctx context.Context) (bsonx.Doc, error) {
	for ; s.left > 0; s.left-- {
		if doc, err := s.Src.Next(ctx); err != nil || doc == nil {
			return nil, err
		}
	}
	return s.Src.Next(ctx)
}

// Needs implements parsing.Reader.
func (*skip) Needs(*parsing.Needs) {}

// Explain implements parsing.Stage.
func (s *skip) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	return parsing.Forms(bsonx.NewDoc("$skip", s.n)), nil
}

// CanFail implements parsing.Failing.
func (*skip) CanFail() bool { return false }

// isNoop implements noop.
func (s *skip) isNoop(parsing.Stage) bool { return s.n == 0 }

// merge implements merger: the numbers of documents add up.
func (s *skip) merge(steps []step) (int, step) {
	sum, n := s.n, 1
	for ; n < len(steps); n++ {
		next, ok := steps[n].Stage.(*skip)
		if !ok || next.n > math.MaxInt64-sum {
			break
		}
		sum += next.n
	}
	if n == 1 {
		return 1, steps[0]
	}
	return n, step{"$skip", bsonx.Int64(sum), &skip{sum}}
}
