package pipeline

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// sample is the $sample stage: it yields random documents in random order. It gives each document a
// random value, sorts by it in descending order, and keeps the first size documents.
type sample struct{ size int64 }

func sampleDefinition() parsing.Definition {
	properties := parsing.OfDocuments()
	properties.Repeatable = feature.No
	return parsing.Definition{
		Name: "$sample", Parse: parseSample, Properties: properties,
		Safety: parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Inside: parsing.InsideNothing,
	}
}

func parseSample(arg bsonx.Value, _ parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(28745, "the $sample stage specification must be an object")
	}
	size := bsonx.Missing
	for it := arg.Doc().Iter(); it.Next(); {
		if string(it.Key()) != "size" {
			return nil, mongoerr.New(28748, "unrecognized option to $sample: %s", it.Key())
		}
		size = it.Value()
		if !size.Type.IsNumber() {
			return nil, mongoerr.New(28746, "size argument to $sample must be a number")
		}
	}
	if size.IsMissing() {
		return nil, mongoerr.New(28749, "$sample stage must specify a size")
	}
	n, ok := size.RoundInt64()
	if f, _ := size.AsFloat64(); !ok && f > 0 {
		n = math.MaxInt64
	}
	if n <= 0 {
		return nil, mongoerr.New(28747, "size argument to $sample must be a positive integer")
	}
	return []parsing.Stage{&sample{n}}, nil
}

func (s *sample) Open(src source.Source, env *source.Env) source.Source {
	return &sampleSource{sortingSource: sortingSource{
		Input: source.Input{Src: src}, env: env,
		limit: s.size, key: appendRandom,
	}}
}

// appendRandom appends a sort key for a random value in [0, 1). The key is the complement of the
// value's bits, so that high values sort first.
func appendRandom(dst []byte, _ bsonx.Doc) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, ^math.Float64bits(rand.Float64())), nil
}

// sampleSource yields the sampled documents. Their metadata contains the random value by which each
// was sorted.
type sampleSource struct {
	sortingSource
	random [source.DoubleBytes]byte
	meta   expr.Meta
}

// Next implements source.Source.
func (s *sampleSource) Next(ctx context.Context) (bsonx.Doc, error) {
	doc, err := s.sortingSource.Next(ctx)
	if doc != nil {
		binary.LittleEndian.PutUint64(s.random[:], ^binary.BigEndian.Uint64(s.entry.Key))
	}
	return doc, err
}

// Meta implements source.MetaSource.
func (s *sampleSource) Meta() *expr.Meta {
	s.meta = expr.Meta{}
	if kept := s.kept.Meta(); kept != nil {
		s.meta = *kept
	}
	s.meta.RandVal = bsonx.Value{Type: bsonx.TypeDouble, Data: s.random[:]}
	return &s.meta
}

// Needs implements parsing.Reader.
func (*sample) Needs(*parsing.Needs) {}

// Explain implements parsing.Stage.
func (s *sample) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	return parsing.Forms(bsonx.NewDoc("$sample", bsonx.NewDoc("size", s.size))), nil
}
