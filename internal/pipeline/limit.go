package pipeline

import (
	"context"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// limit is the $limit stage.
type limit struct{ n int64 }

func limitDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$limit", Parse: parseLimit,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfDocuments(), Inside: parsing.InsideNothing,
	}
}

func parseLimit(arg bsonx.Value, _ parsing.Options) ([]parsing.Stage, error) {
	n, err := nonNegative(arg, "limit", 5107201)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, mongoerr.New(15958, "the limit must be positive")
	}
	return []parsing.Stage{&limit{n}}, nil
}

// nonNegative parses the argument of $limit or $skip. It fails unless the argument is a whole
// number that is not negative.
func nonNegative(arg bsonx.Value, name string, code mongoerr.Code) (int64, error) {
	if !arg.Type.IsNumber() {
		return 0, mongoerr.New(code, "invalid argument to $%s stage: Expected a number in: $%s: %s", name, name, bsonx.FormatShell(arg))
	}
	x, _ := arg.AsFloat64()
	n, ok := arg.AsExactInt64()
	reason := ""
	switch {
	case math.IsNaN(x):
		reason = "Expected an integer, but found NaN in"
	case !ok && math.Abs(x) >= 1<<63:
		reason = "Cannot represent as a 64-bit integer"
	case !ok:
		reason = "Expected an integer"
	case n < 0:
		reason = "Expected a non-negative number in"
	default:
		return n, nil
	}
	return 0, mongoerr.New(code, "invalid argument to $%s stage: %s: $%s: %s", name,
		reason, name, bsonx.FormatShell(arg))
}

func (l *limit) Open(src source.Source, _ *source.Env) source.Source {
	return &limitSource{source.Input{Src: src}, l.n}
}

type limitSource struct {
	source.Input
	left int64
}

func (s *limitSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if s.left == 0 {
		return nil, nil
	}
	s.left--
	return s.Src.Next(ctx)
}

// Needs implements parsing.Reader.
func (*limit) Needs(*parsing.Needs) {}

// Explain implements parsing.Stage.
func (l *limit) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	return parsing.Forms(bsonx.NewDoc("$limit", l.n)), nil
}

// CanFail implements parsing.Failing.
func (*limit) CanFail() bool { return false }

// merge implements merger: the smallest limit holds.
func (l *limit) merge(steps []step) (int, step) {
	least, n := l.n, 1
	for ; n < len(steps); n++ {
		next, ok := steps[n].Stage.(*limit)
		if !ok {
			break
		}
		least = min(least, next.n)
	}
	if n == 1 {
		return 1, steps[0]
	}
	return n, step{"$limit", bsonx.Int64(least), &limit{least}}
}
