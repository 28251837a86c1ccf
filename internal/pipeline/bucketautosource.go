package pipeline

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/extsort"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
	"github.com/sheafdb/sheaf/internal/pipeline/granularity"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

func (b *bucketAuto) Open(src source.Source, env *source.Env) source.Source {
	env = env.For(bucketAutoBudget)
	s := &bucketAutoSource{
		Input: source.Input{Src: src}, stage: b, env: env, limit: env.Limit(), held: env.Hold(),
		sorter: env.NewSorter(0), ctx: expr.Context{Now: b.opts.Now}, out: bsonx.NewBuilder(nil),
	}
	s.ctx.Running = &s.running
	return s
}

type bucketAutoSource struct {
	source.Input
	stage   *bucketAuto
	env     *source.Env
	limit   int
	held    memory.Holding // the memory of the current bucket's accumulators
	ctx     expr.Context
	sorter  *extsort.Sorter
	entry   extsort.Entry
	running interrupt.Running
	loaded  bool
	count   int
	out     *bsonx.Builder

	buckets int         // the number of buckets begun so far
	value   bsonx.Value // the groupBy value of doc
	doc     bsonx.Doc   // the next document of the sorted input; nil at the end
	number  int64       // the position of doc in the unsorted input
	// min is the lower boundary of the next bucket, if it is not the value of the bucket's first
	// document.
	min bsonx.Value
}

// Save implements source.Source.
func (s *bucketAutoSource) Save() {
	source.IdleBuilder(s.out)
	s.Input.Save()
}

// Kept implements memory.Keeper.
func (s *bucketAutoSource) Kept() int64 {
	return s.sorter.Uncounted() + int64(len(s.doc)) + s.Input.Kept()
}

// Close implements source.Source.
func (s *bucketAutoSource) Close() {
	s.sorter.Close()
	s.held.Release()
	s.Input.Close()
}

// Next implements source.Source.
func (s *bucketAutoSource) Next(ctx context.Context) (bsonx.Doc, error) {
	s.running.Set(ctx)
	if !s.loaded {
		s.loaded = true
		if err := s.load(ctx); err != nil {
			return nil, err
		}
	}
	if s.doc == nil {
		return nil, nil
	}
	return s.bucket(ctx)
}

// load sorts the whole input by the groupBy value. The body of a sorter entry is {"": <value>, "d":
// <document>, "n": <input position>}.
func (s *bucketAutoSource) load(ctx context.Context) error {
	pair := bsonx.NewBuilder(nil)
	var key []byte
	err := source.Drain(ctx, s.Src, func(doc bsonx.Doc) error {
		s.ctx.Root, s.ctx.Meta = bsonx.Document(doc), source.MetaOf(s.Src)
		v, err := s.stage.groupBy.Eval(&s.ctx)
		if err != nil {
			return err
		}
		if s.stage.rounder != nil {
			if err := granularity.CheckRoundable(v); err != nil {
				return err
			}
		}
		if v.IsMissing() {
			v = bsonx.Null
		}
		if n := len(doc) + len(v.Data); n >= source.LargeDocument {
			if err := s.sorter.Reserve(ctx, 2*n+2*len(v.Data)); err != nil {
				return err
			}
		}
		s.count++
		pair.Reset(pair.Bytes()[:0])
		pair.StartDoc()
		pair.Value("", v)
		pair.Doc("d", doc)
		pair.Int64("n", int64(s.count))
		pair.End()
		folded, err := s.stage.opts.Collation.Fold(v, nil)
		if err != nil {
			return err
		}
		key = keystring.Append(source.Idle(key)[:0], folded, false)
		err = s.sorter.Add(ctx, &extsort.Entry{Key: key, Body: pair.Bytes()})
		source.IdleBuilder(pair)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.sorter.Finish(ctx); err != nil {
		return err
	}
	return s.step()
}

// step reads the next document of the sorted input into value, doc and number.
func (s *bucketAutoSource) step() error {
	ok, err := s.sorter.Next(&s.entry)
	s.value, s.doc = bsonx.Missing, nil
	if err != nil || !ok {
		return err
	}
	it := bsonx.Doc(s.entry.Body).Iter()
	it.Next()
	s.value = it.Value()
	it.Next()
	s.doc = it.Value().Doc()
	it.Next()
	s.number = it.Value().Int64()
	return nil
}

// bucket reads the documents of the next bucket and returns its result document.
func (s *bucketAutoSource) bucket(ctx context.Context) (bsonx.Doc, error) {
	s.buckets++
	f, err := s.newFiller(ctx)
	if err != nil {
		return nil, err
	}
	defer f.close()
	size := max(1, int(math.Round(float64(s.count)/float64(s.stage.buckets))))
	for n := 0; s.doc != nil && (n < size || s.buckets == s.stage.buckets); n++ {
		if err := f.take(); err != nil {
			return nil, err
		}
	}
	if err := s.absorb(f); err != nil {
		return nil, err
	}
	if err := f.finish(); err != nil {
		return nil, err
	}
	if s.min = f.max; s.doc != nil && s.stage.rounder == nil {
		s.min = s.value.Clone()
		f.max = s.min
	}
	id := bsonx.NewDoc("min", f.min, "max", f.max)
	return s.stage.document(s.out, bsonx.Document(id), f.accs, s.ctx.Running)
}

// absorb adds the following documents that still belong to the bucket: documents with the same
// value or, with a granularity, with a value below the rounded boundary.
func (s *bucketAutoSource) absorb(f *bucketFiller) error {
	rounder := s.stage.rounder
	boundary := f.max
	if rounder != nil {
		var err error
		if boundary, err = rounder.Up(f.max); err != nil {
			return err
		}
	}
	for s.doc != nil {
		// Without a rounder the boundary is the largest value of the bucket. The same is true for
		// zero, which no granularity rounds.
		c := s.stage.opts.Collation.CompareValues(s.value, boundary)
		if err := s.stage.opts.Collation.Ended(s.value, boundary); err != nil {
			return err
		}
		if c > 0 || c == 0 && rounder != nil && !numeric.IsZero(boundary) {
			break
		}
		if err := f.take(); err != nil {
			return err
		}
	}
	if rounder == nil {
		return nil
	}
	if s.doc == nil {
		// The upper boundary of the last bucket is its largest value, rounded up.
		var err error
		f.max, err = rounder.Up(f.max)
		return err
	}
	f.max = boundary
	if numeric.IsZero(boundary) {
		// Zero is not rounded up, so the bucket ends at the lower boundary of the next one.
		var err error
		f.max, err = rounder.Down(s.value)
		return err
	}
	return nil
}

// bucketFiller collects the documents of one bucket.
type bucketFiller struct {
	s        *bucketAutoSource
	ctx      context.Context
	accs     []accumulator.Accumulator
	byValue  bucketReading
	byOrder  bucketReading
	min, max bsonx.Value
	bytes, n int
	// sorter restores the input order of the bucket's documents for the byOrder accumulators. It is
	// nil if there are no such accumulators.
	sorter *extsort.Sorter
	key    [8]byte
}

func (s *bucketAutoSource) newFiller(ctx context.Context) (*bucketFiller, error) {
	f := &bucketFiller{s: s, ctx: ctx, min: s.min}
	if s.buckets == 1 {
		f.min = s.value.Clone()
		if s.stage.rounder != nil {
			var err error
			if f.min, err = s.stage.rounder.Down(f.min); err != nil {
				return nil, err
			}
		}
	}
	var err error
	if f.accs, f.bytes, err = s.stage.start(&s.ctx, bsonx.Missing); err != nil {
		return nil, err
	}
	f.byValue, f.byOrder = s.stage.byValue.start(&s.ctx, f.accs), s.stage.byOrder.start(&s.ctx, f.accs)
	if len(f.byOrder.accs) > 0 {
		f.sorter = s.env.NewSorter(0)
	}
	return f, nil
}

func (f *bucketFiller) close() {
	f.sorter.Close()
}

// take adds the next document of the sorted input to the bucket.
func (f *bucketFiller) take() error {
	if f.n++; f.n%source.InterruptInterval == 0 && f.ctx.Err() != nil {
		return context.Cause(f.ctx)
	}
	if f.sorter != nil {
		binary.BigEndian.PutUint64(f.key[:], uint64(f.s.number))
		if len(f.s.doc) >= source.LargeDocument {
			if err := f.sorter.Reserve(f.ctx, len(f.s.doc)); err != nil {
				return err
			}
		}
		if err := f.sorter.Add(f.ctx, &extsort.Entry{Key: f.key[:], Body: f.s.doc}); err != nil {
			return err
		}
	}
	if err := f.accumulate(&f.byValue, f.s.doc); err != nil {
		return err
	}
	f.max = bsonx.Value{Type: f.s.value.Type, Data: append(f.max.Data[:0:0], f.s.value.Data...)}
	return f.s.step()
}

func (f *bucketFiller) accumulate(r *bucketReading, doc bsonx.Doc) error {
	grown, err := r.add(doc)
	if err != nil {
		return err
	}
	if f.bytes += grown; f.bytes > f.s.limit {
		return mongoerr.New(mongoerr.ExceededMemoryLimit, "Exceeded memory limit for $bucketAuto. Memory limit: %d bytes", f.s.limit)
	}
	return f.s.held.Hold(int64(f.bytes))
}

// finish feeds the documents in input order to the byOrder accumulators.
func (f *bucketFiller) finish() error {
	if f.sorter == nil {
		return nil
	}
	if err := f.sorter.Finish(f.ctx); err != nil {
		return err
	}
	var e extsort.Entry
	for n := 1; ; n++ {
		if n%source.InterruptInterval == 0 && f.ctx.Err() != nil {
			return context.Cause(f.ctx)
		}
		if ok, err := f.sorter.Next(&e); err != nil || !ok {
			return err
		}
		if err := f.accumulate(&f.byOrder, e.Body); err != nil {
			return err
		}
	}
}

// Meta implements source.MetaSource. A bucket has no text score or other metadata of a document.
func (s *bucketAutoSource) Meta() *expr.Meta { return source.WithoutScore(s.Src) }
