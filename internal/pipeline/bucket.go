package pipeline

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

func bucketDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$bucket", Parse: parseBucket,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfDocuments(), Inside: insideBucket,
	}
}

// parseBucket compiles $bucket into two stages: a $group by the lower boundary of the bucket, and a
// $sort by _id.
func parseBucket(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	b, err := parseBucketArguments(arg, opts)
	if err != nil {
		return nil, err
	}
	input, err := expr.Parse(b.groupBy, opts.Vars)
	if err != nil {
		return nil, err
	}
	g := &group{opts: opts, bucket: b, part: true, spec: bsonx.NewDoc("count", bsonx.NewDoc("$sum", 1))}
	if !b.output.IsMissing() {
		g.spec = b.output.Doc()
	}
	g.id = expr.Bucket(input, b.boundaries, b.other, opts.Vars)
	grouped, err := g.parse()
	if err != nil {
		return nil, err
	}
	ordered, err := parseSort(bsonx.Document(bsonx.NewDoc("_id", 1)), opts)
	return append(grouped, ordered...), err
}

// bucketArguments holds the validated arguments of $bucket. An argument that the client left out is
// bsonx.Missing.
type bucketArguments struct {
	groupBy    bsonx.Value
	boundaries []bsonx.Value
	other      expr.Expr // the constant argument "default"; nil if it is absent
	output     bsonx.Value
}

func parseBucketArguments(arg bsonx.Value, opts parsing.Options) (*bucketArguments, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(40201, "Argument to $bucket stage must be an object, but found type: %s.", arg.Type)
	}
	b := &bucketArguments{}
	for it := arg.Doc().Iter(); it.Next(); {
		if err := b.set(string(it.Key()), it.Value(), opts); err != nil {
			return nil, err
		}
	}
	if b.groupBy.IsMissing() || b.boundaries == nil {
		return nil, mongoerr.New(40198, "$bucket requires 'groupBy' and 'boundaries' to be specified.")
	}
	if b.other == nil {
		return b, nil
	}
	other, _ := expr.ConstValue(b.other)
	by := opts.Collation.Comparer(opts.Vars.Scripts().Running)
	within := by.Compare(other, b.boundaries[0]) >= 0 && by.Compare(other, b.boundaries[len(b.boundaries)-1]) < 0
	if err := by.Ended(); err != nil {
		return nil, err
	}
	if within {
		return nil, mongoerr.New(40199,
			"The $bucket 'default' field must be less than the lowest boundary or greater than or equal to the highest boundary.")
	}
	return b, nil
}

func (b *bucketArguments) set(name string, v bsonx.Value, opts parsing.Options) (err error) {
	switch name {
	case "groupBy":
		if !isPathOrOperator(v) {
			return mongoerr.New(40202, "The $bucket 'groupBy' field must be defined as a $-prefixed path or an expression, but found: %s.", bsonx.FormatShell(v))
		}
		b.groupBy = v
	case "boundaries":
		b.boundaries, err = parseBoundaries(v, opts)
		return err
	case "default":
		if b.other, err = expr.Parse(v, opts.Vars); err != nil {
			return err
		}
		if _, ok := expr.ConstValue(b.other); !ok {
			return mongoerr.New(40195, "The $bucket 'default' field must be a constant expression, but found: %s.", bsonx.FormatShell(v))
		}
	case "output":
		if v.Type != bsonx.TypeDocument {
			return mongoerr.New(40196, "The $bucket 'output' field must be an object, but found type: %s.", v.Type)
		}
		b.output = v
	default:
		return mongoerr.New(40197, "Unrecognized option to $bucket: %s.", name)
	}
	return nil
}

// isPathOrOperator reports whether v has the form "$path" or {$operator: …}.
func isPathOrOperator(v bsonx.Value) bool {
	switch v.Type {
	case bsonx.TypeString:
		return strings.HasPrefix(v.Str(), "$")
	case bsonx.TypeDocument:
		return strings.HasPrefix(string(v.Doc().First().Key), "$")
	default:
		return false
	}
}

// boundaryWork is the work of compiling one boundary, in the units of interrupt.Meter.
const boundaryWork = 16 * interrupt.Step

// parseBoundaries returns the boundaries of $bucket. It fails unless they are constants of the same
// type class in ascending order.
func parseBoundaries(v bsonx.Value, opts parsing.Options) ([]bsonx.Value, error) {
	if v.Type != bsonx.TypeArray {
		return nil, mongoerr.New(40200, "The $bucket 'boundaries' field must be an array, but found type: %s.", v.Type)
	}
	list := []bsonx.Value{}
	var meter interrupt.Meter
	running := opts.Vars.Scripts().Running
	for it := v.Doc().Iter(); it.Next(); {
		if err := meter.Did(boundaryWork, running); err != nil {
			return nil, err
		}
		e, err := expr.Parse(it.Value(), opts.Vars)
		if err != nil {
			return nil, err
		}
		c, ok := expr.ConstValue(e)
		if !ok {
			return nil, mongoerr.New(40191, "The $bucket 'boundaries' field must be an array of constant values, but found value: %s.", bsonx.FormatShell(it.Value()))
		}
		list = append(list, c)
	}
	if len(list) < 2 {
		return nil, mongoerr.New(40192, "The $bucket 'boundaries' field must have at least 2 values, but found %d value(s).", len(list))
	}
	for i, high := range list[1:] {
		if err := meter.Did(interrupt.Step+len(high.Data), running); err != nil {
			return nil, err
		}
		low := list[i]
		if low.Type.Class() != high.Type.Class() {
			return nil, mongoerr.New(40193, "All values in the the 'boundaries' option to $bucket must have the same type. Found conflicting types %s and %s.",
				low.Type, high.Type)
		}
		order := opts.Collation.CompareValues(low, high)
		if err := opts.Collation.Ended(low, high); err != nil {
			return nil, err
		}
		if order >= 0 {
			return nil, mongoerr.New(40194,
				"The 'boundaries' option to $bucket must be sorted, but elements %d and %d are not in ascending order (%s is not less than %s).",
				i, i+1, expr.Show(low), expr.Show(high))
		}
	}
	return list, nil
}

// form returns the _id expression of the $group for explain: a $switch over the boundaries. It
// stops adding branches when the result exceeds limits.InternalDocumentBytes, because explain
// cannot show it then.
func (b *bucketArguments) form(id expr.Expr, e expr.Serializer) bsonx.Value {
	if c, ok := expr.ConstValue(id); ok {
		return e.Expression(literal(c))
	}
	input := e.Expression(b.groupBy)
	out := bsonx.NewBuilder(nil)
	out.StartDoc()
	out.StartDocField("$switch")
	out.StartArrayField("branches")
	for i, low := range b.boundaries[:len(b.boundaries)-1] {
		if out.Len() > limits.InternalDocumentBytes {
			break
		}
		low, high := e.Expression(literal(low)), e.Expression(literal(b.boundaries[i+1]))
		within := []bsonx.Doc{
			bsonx.NewDoc("$gte", bsonx.NewArray(input, low)),
			bsonx.NewDoc("$lt", bsonx.NewArray(input, high)),
		}
		out.Elem(bsonx.Document(bsonx.NewDoc("case", bsonx.NewDoc("$and", within), "then", low)))
	}
	out.End()
	if b.other != nil {
		other, _ := expr.ConstValue(b.other)
		out.Value("default", e.Expression(literal(other)))
	}
	out.End()
	out.End()
	return bsonx.Document(out.Bytes())
}

func literal(v bsonx.Value) bsonx.Value { return bsonx.Document(bsonx.NewDoc("$literal", v)) }

// insideBucket implements Definition.Inside for $bucket and $bucketAuto: it visits their
// expressions and accumulators.
func insideBucket(arg bsonx.Value, w parsing.Walker) {
	w.Accumulators(parsing.Argument(arg, "output"))
	w.Expression(parsing.Argument(arg, "groupBy"))
}
