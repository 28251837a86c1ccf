package pipeline

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// parseBucket is $bucket: a $group by a $switch over the boundaries, then a $sort by _id.
func parseBucket(arg bsonx.Value, opts Options) ([]stage, error) {
	b, err := parseBucketArguments(arg, opts)
	if err != nil {
		return nil, err
	}
	spec := bsonx.NewBuilder(nil)
	spec.StartDoc()
	spec.Value("_id", b.id())
	if b.output.IsMissing() {
		spec.Value("count", bsonx.Document(bsonx.NewDoc("$sum", 1)))
	} else {
		spec.Fields(b.output.Doc())
	}
	spec.End()
	grouped, err := parseGroup(bsonx.Document(spec.Bytes()), opts)
	if err != nil {
		return nil, err
	}
	ordered, err := parseSort(bsonx.Document(bsonx.NewDoc("_id", 1)), opts)
	return append(grouped, ordered...), err
}

// bucketArguments are the checked arguments; what is absent is missing.
type bucketArguments struct {
	groupBy    bsonx.Value
	boundaries []bsonx.Value
	other      bsonx.Value // default, as an expression
	output     bsonx.Value
}

func parseBucketArguments(arg bsonx.Value, opts Options) (*bucketArguments, error) {
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
	if b.other.IsMissing() {
		return b, nil
	}
	other := b.other.Doc().First().Value
	if opts.Collation.CompareValues(other, b.boundaries[0]) >= 0 && opts.Collation.CompareValues(other, b.boundaries[len(b.boundaries)-1]) < 0 {
		return nil, mongoerr.New(40199,
			"The $bucket 'default' field must be less than the lowest boundary or greater than or equal to the highest boundary.")
	}
	return b, nil
}

func (b *bucketArguments) set(name string, v bsonx.Value, opts Options) (err error) {
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
		e, err := expr.Parse(v, opts.Vars)
		if err != nil {
			return err
		}
		other, ok := expr.ConstValue(e)
		if !ok {
			return mongoerr.New(40195, "The $bucket 'default' field must be a constant expression, but found: %s.", expr.Show(v))
		}
		b.other = literal(other)
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

// isPathOrOperator reports whether v is "$path" or {$operator: …}.
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

// parseBoundaries returns the boundaries: constants of one class of types, in order.
func parseBoundaries(v bsonx.Value, opts Options) ([]bsonx.Value, error) {
	if v.Type != bsonx.TypeArray {
		return nil, mongoerr.New(40200, "The $bucket 'boundaries' field must be an array, but found type: %s.", v.Type)
	}
	list := []bsonx.Value{}
	for it := v.Doc().Iter(); it.Next(); {
		e, err := expr.Parse(it.Value(), opts.Vars)
		if err != nil {
			return nil, err
		}
		c, ok := expr.ConstValue(e)
		if !ok {
			return nil, mongoerr.New(40191, "The $bucket 'boundaries' field must be an array of constant values, but found value: %s.", expr.Show(it.Value()))
		}
		list = append(list, c)
	}
	if len(list) < 2 {
		return nil, mongoerr.New(40192, "The $bucket 'boundaries' field must have at least 2 values, but found %d value(s).", len(list))
	}
	for i, high := range list[1:] {
		low := list[i]
		if low.Type.Class() != high.Type.Class() {
			return nil, mongoerr.New(40193, "All values in the the 'boundaries' option to $bucket must have the same type. Found conflicting types %s and %s.",
				low.Type, high.Type)
		}
		if opts.Collation.CompareValues(low, high) >= 0 {
			return nil, mongoerr.New(40194,
				"The 'boundaries' option to $bucket must be sorted, but elements %d and %d are not in ascending order (%s is not less than %s).",
				i, i+1, expr.Show(low), expr.Show(high))
		}
	}
	return list, nil
}

// id is the expression that gives a document's bucket: the lower boundary.
func (b *bucketArguments) id() bsonx.Value {
	var branches []bsonx.Doc
	for i, low := range b.boundaries[:len(b.boundaries)-1] {
		within := []bsonx.Doc{
			bsonx.NewDoc("$gte", bsonx.NewArray(b.groupBy, literal(low))),
			bsonx.NewDoc("$lt", bsonx.NewArray(b.groupBy, literal(b.boundaries[i+1]))),
		}
		branches = append(branches, bsonx.NewDoc("case", bsonx.NewDoc("$and", within), "then", literal(low)))
	}
	choice := bsonx.NewDoc("branches", branches)
	if !b.other.IsMissing() {
		choice = bsonx.NewDoc("branches", branches, "default", b.other)
	}
	return bsonx.Document(bsonx.NewDoc("$switch", choice))
}

func literal(v bsonx.Value) bsonx.Value { return bsonx.Document(bsonx.NewDoc("$literal", v)) }
