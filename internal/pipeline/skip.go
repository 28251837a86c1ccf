package pipeline

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// skip is $skip.
type skip struct{ n int64 }

func parseSkip(arg bsonx.Value, _ Options) ([]stage, error) {
	n, err := nonNegative(arg, "skip", 5107200)
	if err != nil {
		return nil, err
	}
	return []stage{&skip{n}}, nil
}

func (s *skip) open(src Source, _ *Env) Source { return &skipSource{input{src: src}, s.n} }

type skipSource struct {
	input
	left int64
}

func (s *skipSource) Next(ctx context.Context) (bsonx.Doc, error) {
	for ; s.left > 0; s.left-- {
		if doc, err := s.src.Next(ctx); err != nil || doc == nil {
			return nil, err
		}
	}
	return s.src.Next(ctx)
}
