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
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// bucketAuto is $bucketAuto: it sorts its input by a value and cuts it into buckets of about the same count. Documents of
// equal values are in one bucket.
type bucketAuto struct {
	groupBy expr.Expr
	buckets int
	rounder granularity.Rounder // nil without a granularity
	outputs
	byValue, byOrder bucketPart // the accumulators that take documents in the order of groupBy, and as they come
	opts             parsing.Options
}

// bucketPart is some of the accumulators.
type bucketPart struct {
	outputs
	places []int // among all
	read   reader
}

func (p *bucketPart) addAccumulator(place int, acc *accumulator.Accumulation) {
	p.places, p.fields = append(p.places, place), append(p.fields, acc)
}

// start begins to read documents for the part's accumulators, which are some of those given.
func (p *bucketPart) start(ctx *expr.Context, all []accumulator.Accumulator) bucketReading {
	r := bucketReading{part: p, reading: p.read.start(ctx)}
	for _, i := range p.places {
		r.accs = append(r.accs, all[i])
	}
	return r
}

// bucketReading gathers documents in the accumulators of a part.
type bucketReading struct {
	part    *bucketPart
	accs    []accumulator.Accumulator
	reading *reading
}

// add returns by how many bytes the accumulators have grown.
func (r *bucketReading) add(doc bsonx.Doc) (int, error) {
	r.reading.read(doc)
	return r.part.add(r.accs, r.reading, 0)
}

func bucketAutoDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$bucketAuto", Parse: parseBucketAuto,
		Properties: parsing.OfDocuments(), Inside: insideBucket,
		Budget: parsing.Budget{Param: "internalDocumentSourceBucketAutoMaxMemoryBytes", Least: 1},
	}
}

func parseBucketAuto(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(40240, "The argument to $bucketAuto must be an object, but found type: %s", arg.Type)
	}
	b := &bucketAuto{opts: opts}
	var output bsonx.Value
	for it := arg.Doc().Iter(); it.Next(); {
		if string(it.Key()) == "output" {
			if output = it.Value(); output.Type != bsonx.TypeDocument {
				return nil, mongoerr.New(40244, "The $bucketAuto 'output' field must be an object, but found type: %s", output.Type)
			}
			continue
		}
		if err := b.set(string(it.Key()), it.Value()); err != nil {
			return nil, err
		}
	}
	if b.groupBy == nil || b.buckets == 0 {
		return nil, mongoerr.New(40246, "$bucketAuto requires 'groupBy' and 'buckets' to be specified")
	}
	if output.Doc().IsEmpty() {
		output = bsonx.Document(bsonx.NewDoc("count", bsonx.NewDoc("$sum", 1)))
	}
	for it := output.Doc().Iter(); it.Next(); {
		if err := b.addField(string(it.Key()), it.Value(), opts); err != nil {
			return nil, err
		}
	}
	running := opts.Vars.Scripts().Running
	for i, f := range b.fields {
		if err := lookAt(i, running); err != nil {
			return nil, err
		}
		if _, ok := expr.ConstValue(f.Init); f.Init != nil && !ok {
			return nil, mongoerr.New(4544714, "Can't refer to the group key in $bucketAuto")
		}
		every := *f
		every.Once = false // as in MongoDB, the operand of a $first that has its value is computed, and may fail
		b.fields[i] = &every
		if goesByOrder(&every) {
			b.byOrder.addAccumulator(i, &every)
		} else {
			b.byValue.addAccumulator(i, &every)
		}
	}
	var err error
	if b.byValue.read, err = newReader(b.byValue.args(), running); err != nil {
		return nil, err
	}
	b.byOrder.read, err = newReader(b.byOrder.args(), running)
	return []parsing.Stage{b}, err
}

// goesByOrder reports whether an accumulator takes the documents of a bucket in the order in which they came, as within MongoDB.
func goesByOrder(acc *accumulator.Accumulation) bool {
	switch acc.Name {
	case "$first", "$last", "$firstN", "$lastN", "$push", "$mergeObjects":
		return true
	}
	return false
}

func (b *bucketAuto) set(name string, v bsonx.Value) (err error) {
	switch name {
	case "groupBy":
		if !isPathOrOperator(v) {
			return mongoerr.New(40239, "The $bucketAuto 'groupBy' field must be defined as a $-prefixed path or an expression object, but found: %s", bsonx.FormatShell(v))
		}
		b.groupBy, err = expr.Parse(v, b.opts.Vars)
	case "buckets":
		b.buckets, err = parseBucketCount(v)
	case "granularity":
		if v.Type != bsonx.TypeString {
			return mongoerr.New(40261, "The $bucketAuto 'granularity' field must be a string, but found type: %s", v.Type)
		}
		b.rounder, err = granularity.New(v.Str())
	default:
		return mongoerr.New(40245, "Unrecognized option to $bucketAuto: %s", name)
	}
	return err
}

func parseBucketCount(v bsonx.Value) (int, error) {
	if !v.Type.IsNumber() {
		return 0, mongoerr.New(40241, "The $bucketAuto 'buckets' field must be a numeric value, but found type: %s", v.Type)
	}
	n, ok := v.AsExactInt64()
	if !ok || n != int64(int32(n)) {
		return 0, mongoerr.New(40242, "The $bucketAuto 'buckets' field must be representable as a 32-bit integer, but found %s", expr.ShowNumber(v))
	}
	if n <= 0 {
		return 0, mongoerr.New(40243, "The $bucketAuto 'buckets' field must be greater than 0, but found: %d", n)
	}
	return int(n), nil
}

func (b *bucketAuto) Open(src source.Source, env *source.Env) source.Source {
	s := &bucketAutoSource{
		Input: source.Input{Src: src}, stage: b, env: env, limit: env.Limit(), held: env.Hold(), sorter: env.NewSorter(0), ctx: expr.Context{Now: b.opts.Now}, out: bsonx.NewBuilder(nil),
	}
	s.ctx.Running = &s.running
	return s
}

type bucketAutoSource struct {
	source.Input
	stage   *bucketAuto
	env     *source.Env
	limit   int
	held    memory.Holding // of the buckets' accumulators
	ctx     expr.Context
	sorter  *extsort.Sorter
	entry   extsort.Entry
	running interrupt.Running
	loaded  bool
	count   int
	out     *bsonx.Builder

	buckets int         // how many have been begun
	value   bsonx.Value // of the next document
	doc     bsonx.Doc   // the next document, nil at the end
	number  int64       // of the next document, as it came
	min     bsonx.Value // of the next bucket, where it is not that of its first document
}

// Save implements Source.
func (s *bucketAutoSource) Save() {
	source.IdleBuilder(s.out)
	s.Input.Save()
}

// Kept implements memory.Keeper.
func (s *bucketAutoSource) Kept() int64 {
	return s.sorter.Uncounted() + int64(len(s.doc)) + s.Input.Kept()
}

// Close implements Source.
func (s *bucketAutoSource) Close() {
	s.sorter.Close()
	s.held.Release()
	s.Input.Close()
}

// Next implements Source.
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

// load sorts the input. The entries are {"": <value>, "d": <document>, "n": <number>}.
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

// step goes to the next document.
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

// bucket fills and returns the next bucket.
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

// absorb takes the documents that follow and belong to the bucket: those of the same value, or below the rounded
// boundary.
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
		// Without a rounder, and for zero, which is not rounded, the boundary is the greatest value of the bucket.
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
		// The last boundary is rounded from the greatest value.
		var err error
		f.max, err = rounder.Up(f.max)
		return err
	}
	f.max = boundary
	if numeric.IsZero(boundary) {
		// Zero is not rounded: the bucket ends where the next one begins.
		var err error
		f.max, err = rounder.Down(s.value)
		return err
	}
	return nil
}

// bucketFiller gathers one bucket.
type bucketFiller struct {
	s        *bucketAutoSource
	ctx      context.Context
	accs     []accumulator.Accumulator
	byValue  bucketReading
	byOrder  bucketReading
	min, max bsonx.Value
	bytes, n int
	// sorter brings the documents back into the order in which they came, where that matters; nil elsewhere.
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

// take adds the next document to the bucket.
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

// finish accumulates the documents that were brought back into order.
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

// Meta implements MetaSource: a bucket has none.
func (s *bucketAutoSource) Meta() *expr.Meta { return source.WithoutScore(s.Src) }
