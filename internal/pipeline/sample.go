package pipeline

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// sample is $sample: it yields documents chosen at random, in random order. It sorts by random keys and keeps the first.
type sample struct{ size int64 }

func parseSample(arg bsonx.Value, _ Options) ([]stage, error) {
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
	n, ok := size.AsInt64()
	if f, _ := size.AsFloat64(); !ok && f > 0 {
		n = math.MaxInt64
	}
	if n <= 0 {
		return nil, mongoerr.New(28747, "size argument to $sample must be a positive integer")
	}
	return []stage{&sample{n}}, nil
}

func (s *sample) open(src Source, env *Env) Source {
	sorted := &sortingSource{input: input{src}, env: env, limit: s.size, key: func(dst []byte, _ bsonx.Doc) ([]byte, error) {
		return binary.BigEndian.AppendUint64(dst, rand.Uint64()), nil
	}}
	if s.size < maxSorterLimit {
		return sorted
	}
	return &limitSource{input{sorted}, s.size}
}
