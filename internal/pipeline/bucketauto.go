package pipeline

import (
	"context"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/granularity"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// bucketAuto is the $bucketAuto stage. It sorts its input by the groupBy value and divides it into
// buckets of about the same number of documents. Documents with equal values always share a bucket.
type bucketAuto struct {
	groupBy expr.Expr
	buckets int
	rounder granularity.Rounder // nil if the stage has no granularity
	outputs
	// byValue has the accumulators that receive documents in the order of groupBy. byOrder has
	// those that receive documents in the order of the input.
	byValue, byOrder bucketPart
	opts             parsing.Options
}

// bucketPart is a subset of the stage's accumulators, with a reader for their operands.
type bucketPart struct {
	outputs
	places []int // the positions of these accumulators in bucketAuto.fields
	read   reader
}

func (p *bucketPart) addAccumulator(place int, acc *accumulator.Accumulation) {
	p.places, p.fields = append(p.places, place), append(p.fields, acc)
}

// start prepares to feed documents to the accumulators of this part. It picks them from all, the
// accumulators of one bucket.
func (p *bucketPart) start(ctx *expr.Context, all []accumulator.Accumulator) bucketReading {
	r := bucketReading{part: p, reading: p.read.start(ctx)}
	for _, i := range p.places {
		r.accs = append(r.accs, all[i])
	}
	return r
}

// bucketReading feeds the documents of one bucket to the accumulators of a bucketPart.
type bucketReading struct {
	part    *bucketPart
	accs    []accumulator.Accumulator
	reading *reading
}

// add feeds doc to the accumulators and returns the number of bytes by which they have grown.
func (r *bucketReading) add(doc bsonx.Doc) (int, error) {
	r.reading.read(doc)
	return r.part.add(r.accs, r.reading, 0)
}

// bucketAutoBudget is the memory limit of $bucketAuto.
var bucketAutoBudget = source.Budget{Param: "internalDocumentSourceBucketAutoMaxMemoryBytes", Least: 1}

func bucketAutoDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$bucketAuto", Parse: parseBucketAuto,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfDocuments(), Inside: insideBucket,
		Budget: bucketAutoBudget,
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
		// Like MongoDB, $first evaluates its operand even after it has its value, so the operand
		// may fail.
		every.Once = false
		b.fields[i] = &every
		if every.InputOrder {
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

// Explain implements parsing.Stage.
func (*bucketAuto) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	spec := x.Spec.Doc()
	output := spec.Lookup("output")
	if output.Doc().IsEmpty() {
		output = bsonx.Document(bsonx.NewDoc("count", bsonx.NewDoc("$sum", 1)))
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Value("groupBy", x.Expression(spec.Lookup("groupBy")))
	b.Value("buckets", spec.Lookup("buckets"))
	b.Value("granularity", spec.Lookup("granularity"))
	b.StartDocField("output")
	for it := output.Doc().Iter(); it.Next(); {
		use := it.Value().Doc().First()
		b.ValueBytes(it.Key(), accumulator.Serialize(x.Serializer, string(use.Key), use.Value))
	}
	b.End()
	b.End()
	return parsing.Forms(bsonx.NewDoc("$bucketAuto", bsonx.Doc(b.Bytes()))), nil
}

// Figures implements parsing.Measured.
func (*bucketAuto) Figures(b *bsonx.Builder, run *parsing.Run) {
	run.Out.Append(b)
	if src, ok := run.Opened.(*bucketAutoSource); ok {
		appendSorted(b, src.sorter)
	}
}
