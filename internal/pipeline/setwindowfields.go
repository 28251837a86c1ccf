package pipeline

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/document"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/spill"
	"github.com/sheafdb/sheaf/internal/window"
)

// partitionField temporarily holds the partition value during the sort, if partitionBy is an
// expression and not a field.
const partitionField = "__internal_setWindowFields_partition_key"

// setWindowFieldsBudget is the memory limit of $setWindowFields, and of the stages that compile
// into it, such as $fill.
var setWindowFieldsBudget = source.Budget{Param: "internalDocumentSourceSetWindowFieldsMaxMemoryBytes", Least: 1}

func setWindowFieldsDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$setWindowFields", Parse: parseSetWindowFields,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfDocuments(), Inside: insideSetWindowFields,
		Budget: setWindowFieldsBudget,
	}
}

// parseSetWindowFields compiles $setWindowFields into the same stages as MongoDB: a $sort by
// partition and sortBy, and the stage that computes the functions over the sorted documents. If the
// partition is an expression, a stage before the sort adds its value to the documents, and the last
// stage removes it.
func parseSetWindowFields(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "the $setWindowFields stage specification must be an object, found %s", arg.Type)
	}
	spec, err := parsing.Fields("$setWindowFields", arg.Doc(), "partitionBy", "sortBy", "output")
	if err != nil {
		return nil, err
	}
	partition, sortBy, output := spec[0], spec[1], spec[2]
	if err := parsing.CheckObject("$setWindowFields.output", output, true); err != nil {
		return nil, err
	}
	if err := parsing.CheckObject("$setWindowFields.sortBy", sortBy, false); err != nil {
		return nil, err
	}
	w := &setWindowFields{opts: opts, spec: spec}
	if err := w.parsePartition(partition); err != nil {
		return nil, err
	}
	order, err := parseWindowSort(sortBy, opts)
	if err != nil {
		return nil, err
	}
	if err := w.parseOutput(output.Doc(), order); err != nil {
		return nil, err
	}
	if w.partitionErr != nil {
		return nil, w.partitionErr
	}
	return w.stages(partition, sortBy)
}

func parseWindowSort(sortBy bsonx.Value, opts parsing.Options) (*window.Order, error) {
	order := &window.Order{Collation: opts.Collation}
	if sortBy.IsNull() {
		return order, nil
	}
	var meter interrupt.Meter
	for it := sortBy.Doc().Iter(); it.Next(); {
		if err := meter.Did(2*parsing.PathWork, opts.Vars.Scripts().Running); err != nil {
			return nil, err
		}
		key, err := parseSortKey(string(it.Key()), it.Value())
		if err != nil {
			return nil, err
		}
		if order.By, err = parseSortValue(key, opts); err != nil {
			return nil, err
		}
		order.Fields++
		order.Key = key
	}
	return order, nil
}

// parseSortValue returns the expression for the value that documents are sorted by.
func parseSortValue(key index.Field, opts parsing.Options) (expr.Expr, error) {
	for _, kind := range expr.MetaKinds() {
		if kind.SortPath == key.Path {
			return expr.ParseOperator("$meta", bsonx.String(kind.Name), opts.Vars.Operators().Scope())
		}
	}
	return expr.Parse(bsonx.String("$"+key.Path), opts.Vars)
}

// setWindowFields computes window functions over documents that are already sorted by partition.
type setWindowFields struct {
	opts parsing.Options
	// spec contains partitionBy, sortBy and output of the specification, for explain.
	spec      []bsonx.Value
	partition expr.Expr // nil if all documents are in one partition
	computed  bool      // the partition value is in partitionField
	functions []*window.Function
	output    *document.Tree
	// partitionErr is the error of a constant partition. Errors in the output come before it.
	partitionErr error
	streams      bool // every function needs only the current document
}

func (w *setWindowFields) parsePartition(v bsonx.Value) error {
	if v.IsNull() {
		return nil
	}
	var failures expr.Failures
	e, err := expr.Parse(v, w.opts.Vars.WithFailures(&failures))
	if err != nil {
		return err
	}
	if err := failures.Err(); err != nil {
		w.partitionErr = mongoerr.Within("Failed to optimize partitionBy expression", err)
		return nil
	}
	if c, ok := expr.ConstValue(e); ok {
		if c.Type == bsonx.TypeArray {
			w.partitionErr = errPartitionArray()
		}
		return nil
	}
	_, plain := expr.FieldPath(e)
	w.partition, w.computed = e, !plain
	if w.computed {
		w.partition, err = expr.Parse(bsonx.String("$"+partitionField), nil)
	}
	return err
}

func errPartitionArray() error {
	return mongoerr.New(mongoerr.TypeMismatch, "An expression used to partition cannot evaluate to value of type array")
}

// functionWork is the work of compiling one window function, in the units of interrupt.Meter.
const functionWork = 64 * interrupt.Step

// functionBytes estimates the memory of a window function in bytes, with the state that it keeps at
// least.
const functionBytes = 1024

func (w *setWindowFields) parseOutput(spec bsonx.Doc, order *window.Order) error {
	w.output = &document.Tree{Value: document.NoValue}
	w.streams = true
	var meter interrupt.Meter
	for it := spec.Iter(); it.Next(); {
		if err := meter.Did(functionWork, w.opts.Vars.Scripts().Running); err != nil {
			return err
		}
		name := string(it.Key())
		path, err := expr.SplitFieldPath(name)
		if err != nil {
			return err
		}
		if it.Value().Type != bsonx.TypeDocument {
			return mongoerr.New(mongoerr.FailedToParse, "The field '%s' must be an object", name)
		}
		f, err := window.Parse(it.Value().Doc(), order, w.opts.Vars)
		if err != nil {
			return err
		}
		if !w.output.Add(path, len(w.functions)) {
			return mongoerr.New(6307900, "$setWindowFields 'output' specification contains two conflicting paths")
		}
		if err := w.opts.Vars.Hold(functionBytes + int64(len(name))); err != nil {
			return err
		}
		w.functions = append(w.functions, f)
		w.streams = w.streams && f.Streams
	}
	if w.computed {
		w.output.Append(&document.Tree{Name: partitionField, Value: document.DropValue})
	}
	return nil
}

// stages returns the stages that $setWindowFields compiles into.
func (w *setWindowFields) stages(partition, sortBy bsonx.Value) ([]parsing.Stage, error) {
	var stages []parsing.Stage
	pattern := bsonx.NewBuilder(nil)
	pattern.StartDoc()
	if w.computed {
		add, err := addFieldsStage(bsonx.NewDoc(partitionField, wrapped(partition)), w.opts)
		if err != nil {
			return nil, err
		}
		stages = append(stages, add...)
	}
	if w.partition != nil {
		path, _ := expr.FieldPath(w.partition)
		pattern.Int32(path, 1)
	}
	if !sortBy.IsNull() {
		for it := sortBy.Doc().Iter(); it.Next(); {
			// All documents of a partition have the same value of this field, so it is left out of
			// the sort.
			if path, _ := expr.FieldPath(orMissing(w.partition)); path != string(it.Key()) {
				pattern.ValueBytes(it.Key(), it.Value())
			}
		}
	}
	pattern.End()
	if bsonx.Doc(pattern.Bytes()).IsEmpty() {
		return append(stages, w), nil
	}
	sorting, err := newSort(pattern.Bytes(), w.opts)
	if err != nil {
		return nil, err
	}
	sorting.windowed = true
	return append(stages, sorting, w), nil
}

func orMissing(e expr.Expr) expr.Expr {
	if e == nil {
		return &expr.Const{}
	}
	return e
}

// wrapped wraps a document expression in $ifNull. Otherwise $addFields would treat it as nested
// fields.
func wrapped(v bsonx.Value) bsonx.Value {
	return bsonx.Document(bsonx.NewDoc("$ifNull", bsonx.NewArray(v, bsonx.Null)))
}

func (w *setWindowFields) Open(src source.Source, env *source.Env) source.Source {
	env = env.For(setWindowFieldsBudget)
	s := &windowSource{
		Input: source.Input{Src: src}, stage: w, out: document.NewWriter(make([]bsonx.Value, len(w.functions))),
		execs: make([]window.Exec, len(w.functions)),
	}
	s.part = windowPartition{
		src: src, stage: w, env: env, limit: env.Limit(), held: env.Hold(),
		docs: spill.NewDeque(env.Hold()),
	}
	s.part.ctx.Now, s.part.ctx.Running = w.opts.Now, &s.part.running
	return s
}

func insideSetWindowFields(arg bsonx.Value, w parsing.Walker) {
	w.Windows(parsing.Argument(arg, "output"))
	w.Expression(parsing.Argument(arg, "partitionBy"))
}

// Needs implements parsing.Reader.
func (w *setWindowFields) Needs(n *parsing.Needs) {
	if n.Many(len(w.functions)) {
		return
	}
	if w.partition != nil {
		n.Expr(w.partition)
	}
	for _, f := range w.functions {
		for _, e := range f.Reads {
			n.Expr(e)
		}
	}
	for _, out := range w.output.Children {
		switch {
		// The result depends on the existing value of the top-level field.
		case out.Value == document.NoValue:
			n.Field(out.Name)
		case out.Value != document.DropValue:
			n.Define(out.Name)
		}
	}
}

// Explain implements parsing.Stage. If the partition is computed, a second
// stage follows that removes the helper field partitionField.
func (w *setWindowFields) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	partition, sortBy, output := w.spec[0], w.spec[1], w.spec[2]
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	switch {
	case w.computed:
		b.String("partitionBy", "$"+partitionField)
	case w.partition != nil:
		b.Value("partitionBy", x.Expression(partition))
	}
	if !sortBy.IsNull() {
		b.Value("sortBy", sortBy)
	}
	b.StartDocField("output")
	for it := output.Doc().Iter(); it.Next(); {
		b.Doc(string(it.Key()), window.Serialize(x.Serializer, it.Value().Doc()))
	}
	b.End()
	b.End()
	docs := []bsonx.Doc{bsonx.NewDoc("$_internalSetWindowFields", bsonx.Doc(b.Bytes()))}
	if w.computed {
		docs = append(docs, bsonx.NewDoc("$project", bsonx.NewDoc(partitionField, false, "_id", true)))
	}
	return parsing.Forms(docs...), nil
}
