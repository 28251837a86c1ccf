package pipeline

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
	"github.com/sheafdb/sheaf/internal/pipeline/document"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/window"
)

// densifyRange selects the range of values that $densify fills with documents.
type densifyRange int

const (
	// densifyFull is "full". Values range from the smallest to the largest value of all documents.
	densifyFull densifyRange = iota
	// densifyPartition is "partition". Values range from the smallest to the largest value within
	// each partition.
	densifyPartition
	densifyBounds // bounds: [lower, upper], without upper itself
)

// densify is the $densify stage. Its input is already sorted.
type densify struct {
	path         []string    // the densified field; only documents are traversed, not arrays
	partitions   [][]string  // the paths in partitionByFields
	partitionBy  []expr.Expr // the expressions that read the paths in partitions
	kind         densifyRange
	lower, upper bsonx.Value
	step         bsonx.Value
	unit         window.TimeUnit
	collation    *collation.Collator
}

// densifyBudget is the memory limit of $densify.
var densifyBudget = source.Budget{Param: "internalDocumentSourceDensifyMaxMemoryBytes", Least: 1}

func densifyDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$densify", Parse: parseDensify,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfDocuments(), Inside: parsing.InsideExpressions,
		Budget: densifyBudget,
	}
}

func parseDensify(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "The $densify stage specification must be an object, found %s", arg.Type)
	}
	spec, err := parsing.Fields("$densify", arg.Doc(), "field", "partitionByFields", "range")
	if err != nil {
		return nil, err
	}
	field, partitions, bounds := spec[0], spec[1], spec[2]
	if err := parsing.CheckString("$densify.field", field, true); err != nil {
		return nil, err
	}
	if err := parsing.CheckObject("$densify.range", bounds, true); err != nil {
		return nil, err
	}
	d := &densify{collation: opts.Collation}
	if err := d.parsePaths(field.Str(), partitions, opts.Vars.Scripts().Running); err != nil {
		return nil, err
	}
	if err := d.parseRange(bounds.Doc()); err != nil {
		return nil, err
	}
	sorting, err := d.sorting(opts)
	return append(sorting, d), err
}

func (d *densify) parsePaths(field string, partitions bsonx.Value, running *interrupt.Running) error {
	var err error
	if d.path, err = expr.SplitFieldPath(field); err != nil {
		return err
	}
	if d.partitions, err = parsing.Paths("$densify.partitionByFields", partitions, running); err != nil {
		return err
	}
	var meter interrupt.Meter
	for _, path := range d.partitions {
		if err := meter.Did(2*parsing.PathWork, running); err != nil {
			return err
		}
		name := strings.Join(path, ".")
		if name == field || strings.HasPrefix(name, field+".") {
			return mongoerr.New(8993000, "partitionByFields '%s' cannot include field '%s' that is being densified.", name, field)
		}
		if strings.HasPrefix(field, name+".") {
			return mongoerr.New(9554500, "field '%s' that is being densified cannot include partitionByFields '%s'.", field, name)
		}
		e, err := expr.Parse(bsonx.String("$"+name), nil)
		if err != nil {
			return err
		}
		d.partitionBy = append(d.partitionBy, e)
	}
	return nil
}

func (d *densify) parseRange(spec bsonx.Doc) error {
	values, err := parsing.Fields("$densify.range", spec, "step", "bounds", "unit")
	if err != nil {
		return err
	}
	step, bounds, unit := values[0], values[1], values[2]
	switch {
	case step.IsNull():
		return mongoerr.New(mongoerr.IDLFailedToParse, "BSON field '$densify.range.step' is missing but a required field")
	case !step.Type.IsNumber():
		return mongoerr.New(mongoerr.TypeMismatch, "BSON field '$densify.range.step' is the wrong type '%s', expected types '[int, decimal, double, long]'", step.Type)
	case bounds.IsMissing():
		return mongoerr.New(mongoerr.IDLFailedToParse, "BSON field '$densify.range.bounds' is missing but a required field")
	}
	if err := parsing.CheckString("$densify.range.unit", unit, false); err != nil {
		return err
	}
	if bsonx.CompareValues(step, bsonx.Int32(0)) <= 0 {
		return mongoerr.New(5733401, "The step parameter in a range statement must be a strictly positive numeric value")
	}
	d.step = step.Clone()
	if !unit.IsNull() {
		if d.unit, err = window.ParseTimeUnit(unit.Str()); err != nil {
			return err
		}
		if _, whole := step.AsExactInt64(); !whole {
			return mongoerr.New(6586400, "The step parameter in a range statement must be a whole number when densifying a date range")
		}
	}
	return d.parseBounds(bounds)
}

func (d *densify) parseBounds(v bsonx.Value) error {
	switch {
	case v.Type == bsonx.TypeArray:
		return d.parsePair(v.Doc())
	case v.Type != bsonx.TypeString:
		return mongoerr.New(5733404, "The bounds in a range statement must be the string 'full', 'partition', or an ascending array of two numbers or two dates")
	case v.Str() == "full":
		d.kind = densifyFull
	case v.Str() == "partition":
		d.kind = densifyPartition
		if len(d.partitions) == 0 {
			return mongoerr.New(5733408, "One cannot specify the bounds as 'partition' without specifying a non-empty array of partitionByFields. You may have meant to specify 'full' bounds.")
		}
	default:
		return mongoerr.New(5946802, "Bounds string must either be 'full' or 'partition'")
	}
	return nil
}

func (d *densify) parsePair(pair bsonx.Doc) error {
	if pair.Len() != 2 {
		return mongoerr.New(5733403, "A bounding array in a range statement must have exactly two elements")
	}
	lower, upper := pair.Index(0), pair.Index(1)
	numbers, dates := lower.Type.IsNumber(), lower.Type == bsonx.TypeDate
	switch {
	case !numbers && !dates:
		return mongoerr.New(5946800, "A bounding array must contain either both dates or both numeric types")
	case bsonx.CompareValues(lower, upper) > 0:
		return mongoerr.New(5733402, "A bounding array must be an ascending array of either two dates or two numbers")
	case numbers != upper.Type.IsNumber() || dates != (upper.Type == bsonx.TypeDate):
		return mongoerr.New(5733406, "A bounding array must contain either both dates or both numeric types")
	case numbers && d.unit != window.NoUnit:
		return mongoerr.New(5733409, "Numeric bounds may not have unit parameter")
	case dates && d.unit == window.NoUnit:
		return mongoerr.New(5733410, "A bounding array of dates must specify a unit")
	case numbers && (lower.Type != upper.Type || lower.Type != d.step.Type):
		return mongoerr.New(5876900, "Upper bound, lower bound, and step must all have the same type")
	}
	d.kind, d.lower, d.upper = densifyBounds, lower.Clone(), upper.Clone()
	return nil
}

// sorting returns the $sort stages that must run before $densify. They sort by partition and field
// or, if the range is full, by the field alone.
func (d *densify) sorting(opts parsing.Options) ([]parsing.Stage, error) {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	if d.kind != densifyFull {
		if len(d.partitions) >= limits.SortFields {
			return nil, errSortKeys
		}
		for _, path := range d.partitions {
			b.Int32(strings.Join(path, "."), 1)
		}
	}
	b.Int32(strings.Join(d.path, "."), 1)
	b.End()
	return parseSort(bsonx.Document(b.Bytes()), opts)
}

// check returns an error unless v is a number or date that fits the unit of the step.
func (d *densify) check(v bsonx.Value) error {
	switch {
	case !v.Type.IsNumber() && v.Type != bsonx.TypeDate:
		return mongoerr.New(5733201, "Densify field type must be numeric or a date")
	case v.Type.IsNumber() && d.unit != window.NoUnit:
		return mongoerr.New(6053600, "Encountered numeric densify value in collection when step has a date unit")
	case v.Type == bsonx.TypeDate && d.unit == window.NoUnit:
		return mongoerr.New(6053600, "Encountered date densify value in collection when step does not have a date unit")
	}
	return nil
}

// following returns v plus one step.
func (d *densify) following(v bsonx.Value) (bsonx.Value, error) {
	if d.unit != window.NoUnit {
		n, _ := d.step.AsInt64()
		return d.unit.Plus(v, n)
	}
	return numeric.Add(v, d.step)
}

// widened converts v to the numeric type that adding the step would give, without changing its
// value. Dates stay as they are.
func (d *densify) widened(v bsonx.Value) (bsonx.Value, error) {
	if d.unit != window.NoUnit {
		return v, nil
	}
	none, err := numeric.Subtract(d.step, d.step)
	if err != nil {
		return none, err
	}
	return numeric.Add(v, none)
}

func (d *densify) Open(src source.Source, env *source.Env) source.Source {
	env = env.For(densifyBudget)
	s := &densifySource{
		Input: source.Input{Src: src}, stage: d, limit: env.Limit(), held: env.Hold(),
		out: document.NewWriter(nil), parts: map[string]*densifyPart{},
	}
	if d.kind == densifyBounds && len(d.partitions) == 0 {
		// The single partition exists even without documents. Creating it cannot fail, because it
		// has no key.
		_, _ = s.part(nil)
	}
	return s
}

// Explain implements parsing.Stage.
func (*densify) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	spec := x.Spec.Doc()
	partitions := spec.Lookup("partitionByFields")
	if partitions.IsNull() {
		partitions = bsonx.NewArray()
	}
	form := bsonx.NewDoc("field", spec.Lookup("field"), "partitionByFields", partitions,
		"range", x.Arguments(spec.Lookup("range").Doc(), "=step", "=bounds", "=unit"))
	return parsing.Forms(bsonx.NewDoc("$_internalDensify", form)), nil
}
