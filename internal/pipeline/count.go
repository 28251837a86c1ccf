package pipeline

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// count is the $count stage. It yields one document with the number of input documents in the named
// field, or no document if there is no input.
type count struct{ field string }

func countDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$count", Parse: parseCount,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfDocuments(), Inside: insideCount,
	}
}

func parseCount(arg bsonx.Value, _ parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeString {
		return nil, mongoerr.New(40156, "the count field must be a non-empty string")
	}
	name := arg.Str()
	switch {
	case name == "":
		return nil, mongoerr.New(40157, "the count field must be a non-empty string")
	case strings.HasPrefix(name, "$"):
		return nil, mongoerr.New(40158, "the count field cannot be a $-prefixed path")
	case strings.IndexByte(name, 0) >= 0:
		return nil, mongoerr.New(40159, "the count field cannot contain a null byte")
	case strings.Contains(name, "."):
		return nil, mongoerr.New(40160, "the count field cannot contain '.'")
	case name == "_id":
		return nil, mongoerr.New(9039800, "the count field cannot be '_id'")
	}
	return []parsing.Stage{&count{name}}, nil
}

func (c *count) Open(src source.Source, _ *source.Env) source.Source {
	return &countSource{Input: source.Input{Src: src}, field: c.field}
}

type countSource struct {
	source.Input
	field string
	done  bool
}

func (s *countSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if s.done {
		return nil, nil
	}
	s.done = true
	n := 0
	err := source.Drain(ctx, s.Src, func(bsonx.Doc) error { n++; return nil })
	if err != nil || n == 0 {
		return nil, err
	}
	return bsonx.NewDoc(s.field, n), nil
}

// Meta implements source.MetaSource. The result of $count has no document metadata.
func (s *countSource) Meta() *expr.Meta { return source.WithoutScore(s.Src) }

// countingFields holds the accumulators of $count and $sortByCount: {count: {$sum: 1}}.
var countingFields = bsonx.Document(bsonx.NewDoc("count", bsonx.NewDoc("$sum", 1)))

func insideCount(_ bsonx.Value, w parsing.Walker) { w.Accumulators(countingFields) }

// Needs implements parsing.Reader.
func (c *count) Needs(n *parsing.Needs) { n.End() }

// Explain implements parsing.Stage.
func (c *count) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	grouped := bsonx.NewDoc("_id", x.Expression(bsonx.Null), c.field,
		accumulator.Serialize(x.Serializer, "$count", bsonx.Missing), "$willBeMerged", false)
	return parsing.Forms(
		bsonx.NewDoc("$group", grouped),
		bsonx.NewDoc("$project", bsonx.NewDoc(c.field, true, "_id", false)),
	), nil
}

// counterBytes is the memory that $count uses, in bytes.
const counterBytes = 8

// Figures implements parsing.Measured.
func (c *count) Figures(b *bsonx.Builder, run *parsing.Run) {
	run.Out.Append(b)
	b.Doc("maxAccumulatorMemoryUsageBytes", bsonx.NewDoc(c.field, int64(counterBytes)))
	b.Int64("totalOutputDataSizeBytes", run.Out.Bytes)
	parsing.AppendSpilled(b, 0, 0)
}

// onlyCounts implements counting.
func (*count) onlyCounts() bool { return true }
