package pipeline

import (
	"context"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/passage"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// group is the $group stage. Groups come out in the order of their first documents, unless the
// stage spilled to disk.
type group struct {
	id expr.Expr
	outputs
	opts parsing.Options
	spec bsonx.Doc // the specification that the stage was compiled from, for explain
	// bucket contains the arguments of $bucket, which determine the _id. It is nil for $group. The
	// field spec does not contain the _id then.
	bucket *bucketArguments
	// part is true if the stage is a part of another one, such as $bucket or $sortByCount.
	part bool
	read reader // reads the parts of the _id, then the operands of the accumulators
	// readsMeta is true if the _id or an operand reads metadata of the document.
	readsMeta bool
	// parts lists the field names of the _id if it is an object expression. The values of these
	// fields identify a group.
	parts []string
	// plain is the stage before absorbProjects merged earlier stages into it. It is nil if no
	// stage was merged.
	plain *group
}

// outputs lists the fields that a stage computes with accumulators, with their names.
type outputs struct {
	names  []string
	fields []*accumulator.Accumulation
	meter  interrupt.Meter // counts the work of compiling the fields
}

// groupBudget is the memory limit of $group, and of the stages that compile into it, such as
// $bucket.
var groupBudget = source.Budget{Param: "internalDocumentSourceGroupMaxMemoryBytes", Least: 1}

func groupDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$group", Parse: parseGroup,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfDocuments(), Inside: insideGroup,
		Budget: groupBudget,
	}
}

func parseGroup(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(15947, "a group's fields must be specified in an object")
	}
	return (&group{opts: opts, spec: arg.Doc()}).parse()
}

// parse compiles the fields of the specification. For $bucket, the _id is set before.
func (g *group) parse() ([]parsing.Stage, error) {
	for it := g.spec.Iter(); it.Next(); {
		var err error
		switch name := string(it.Key()); name {
		case "_id":
			if g.id != nil {
				return nil, mongoerr.New(15948, "a group's _id may only be specified once")
			}
			g.id, err = parseGroupID(it.Value(), g.opts)
		case "$doingMerge":
		default:
			err = g.addField(name, it.Value(), g.opts)
		}
		if err != nil {
			return nil, err
		}
	}
	if g.id == nil {
		return nil, mongoerr.New(15955, "a group specification must include an _id")
	}
	if err := g.compile(); err != nil {
		return nil, err
	}
	return []parsing.Stage{g}, nil
}

func parseGroupID(v bsonx.Value, opts parsing.Options) (expr.Expr, error) {
	if v.Type == bsonx.TypeDocument && !strings.HasPrefix(string(v.Doc().First().Key), "$") {
		for it := v.Doc().Iter(); it.Next(); {
			if t := it.Value().Type; strings.HasPrefix(string(it.Key()), "$") || t.IsNumber() || t == bsonx.TypeBool {
				return nil, mongoerr.New(17390, "$group does not support inclusion-style expressions")
			}
		}
	}
	id, err := expr.Parse(v, opts.Vars)
	if err != nil {
		return nil, err
	}
	if c, ok := expr.ConstValue(id); ok && c.Type == bsonx.TypeDocument && c.Doc().
		IsEmpty() && v.Type == bsonx.TypeDocument && v.Doc().Len() == 1 && !isOperatorCall(v.Doc()) {
		// The _id has one field, and this field has the constant value "missing". The field becomes
		// null, as in idPart.
		return expr.Parse(bsonx.Document(bsonx.NewDoc(string(v.Doc().First().Key), bsonx.Null)), opts.Vars)
	}
	return id, nil
}

// isOperatorCall reports whether d has the form {$operator: …}.
func isOperatorCall(d bsonx.Doc) bool {
	return d.Len() == 1 && strings.HasPrefix(string(d.First().Key), "$")
}

func (o *outputs) addField(name string, v bsonx.Value, opts parsing.Options) error {
	if err := o.meter.Did(functionWork, opts.Vars.Scripts().Running); err != nil {
		return err
	}
	switch {
	case v.Type != bsonx.TypeDocument || v.Doc().IsEmpty() || !strings.HasPrefix(string(v.Doc().First().Key), "$"):
		return mongoerr.New(40234, "The field '%s' must be an accumulator object", name)
	case strings.Contains(name, "."):
		return mongoerr.New(40235, "The field name '%s' cannot contain '.'", name)
	case strings.HasPrefix(name, "$"):
		return mongoerr.New(40236, "The field name '%s' cannot be an operator name", name)
	case v.Doc().Len() != 1:
		return mongoerr.New(40238, "The field '%s' must specify one accumulator: %s: %s",
			name, name, bsonx.FormatShell(v))
	}
	op := v.Doc().First()
	acc, err := accumulator.Parse(string(op.Key), op.Value, opts.Vars)
	if err != nil {
		return err
	}
	o.names = append(o.names, name)
	o.fields = append(o.fields, acc)
	return nil
}

// args returns the operand expressions of the accumulators.
func (o *outputs) args() []expr.Expr {
	list := make([]expr.Expr, len(o.fields))
	for i, f := range o.fields {
		list[i] = f.Arg
	}
	return list
}

// start returns new accumulators for the group with this _id, and the memory that they use in
// bytes.
func (o *outputs) start(ctx *expr.Context, id bsonx.Value) ([]accumulator.Accumulator, int, error) {
	accs, bytes := make([]accumulator.Accumulator, len(o.fields)), 0
	for i, f := range o.fields {
		if err := lookAt(i, ctx.Running); err != nil {
			return nil, 0, err
		}
		acc, err := f.New(ctx, id)
		if err != nil {
			return nil, 0, err
		}
		accs[i] = acc
		bytes += acc.Bytes()
	}
	return accs, bytes, nil
}

// add evaluates the operands for the document that r has read, beginning with expression n, and
// feeds them to the accumulators. It returns the additional memory in bytes.
func (o *outputs) add(accs []accumulator.Accumulator, r *reading, n int) (grown int, err error) {
	for i, acc := range accs {
		if err := lookAt(i, r.ctx.Running); err != nil {
			return 0, err
		}
		if o.fields[i].Once {
			if s, ok := acc.(accumulator.Sater); ok && s.Sated() {
				continue
			}
		}
		v, err := r.value(n + i)
		if err != nil {
			return 0, err
		}
		if o.fields[i].FixedSize {
			if err := acc.Add(v); err != nil {
				return 0, err
			}
			continue
		}
		before := acc.Bytes()
		if err := acc.Add(v); err != nil {
			return 0, err
		}
		grown += acc.Bytes() - before
	}
	return grown, nil
}

// fieldsPerLook is the number of fields of one document that are computed between two checks for an
// interrupt.
const fieldsPerLook = 1 << 10

// lookAt checks for an interrupt after every fieldsPerLook fields of a document. The caller
// computes field i.
func lookAt(i int, running *interrupt.Running) error {
	if i%fieldsPerLook != fieldsPerLook-1 {
		return nil
	}
	return running.Err()
}

// document builds the result for a group: the _id and the results of the accumulators.
func (o *outputs) document(b *bsonx.Builder, id bsonx.Value, accs []accumulator.Accumulator,
	running *interrupt.Running,
) (bsonx.Doc, error) {
	b.Reset(b.Bytes()[:0])
	b.StartDoc()
	b.Value("_id", id)
	for i, acc := range accs {
		if err := lookAt(i, running); err != nil {
			return nil, err
		}
		if err := accumulator.Finish(acc, true); err != nil {
			return nil, err
		}
		if err := o.append(b, i, acc, accumulator.Accumulator.Result, running); err != nil {
			return nil, err
		}
	}
	b.End()
	if b.Len() > limits.InternalDocumentBytes {
		return nil, mongoerr.New(mongoerr.BSONObjectTooLarge,
			"BSONObj size: %d (0x%X) is invalid. Size must be between 0 and %d(16MB) First element: _id: %s", b.Len(), b.Len(), limits.InternalDocumentBytes, expr.Show(id))
	}
	return b.Bytes(), nil
}

// append writes the value of accumulator i, which the function of returns. Before it copies a large
// value, it reserves memory for two more copies; the accumulator's own copy is counted elsewhere.
func (o *outputs) append(b *bsonx.Builder, i int, acc accumulator.Accumulator,
	of func(accumulator.Accumulator) bsonx.Value, running *interrupt.Running,
) error {
	n := acc.Bytes()
	if n < memory.LargeValue {
		b.Value(o.names[i], of(acc))
		return nil
	}
	if err := memory.Of(running.Context()).Value(int64(b.Len() + n)); err != nil {
		return err
	}
	v := of(acc)
	b.Grow(len(v.Data) + len(o.names[i]) + appendedRoom)
	b.Value(o.names[i], v)
	return nil
}

// appendedRoom is the space reserved after a large value for the field's type byte and the ends of
// the enclosing documents.
const appendedRoom = 64

// compile prepares the reader for the _id and the operands. It fails if the operation has been
// interrupted.
func (g *group) compile() (err error) {
	ids := []expr.Expr{g.id}
	if names, values, ok := expr.ObjectFields(g.id); ok {
		g.parts, ids = names, values
	}
	if g.read, err = newReader(append(slices.Clone(ids), g.args()...), g.opts.Vars.Scripts().Running); err != nil {
		return err
	}
	g.readsMeta = len(g.read.fields.MetaKinds()) > 0
	return nil
}

// idParts returns the number of values that identify a group.
func (g *group) idParts() int { return len(g.read.inputs) - len(g.fields) }

func insideGroup(arg bsonx.Value, w parsing.Walker) { w.Accumulators(arg) }

// Needs implements parsing.Reader.
func (g *group) Needs(n *parsing.Needs) {
	if n.Many(len(g.fields)) {
		return
	}
	n.Expr(g.id)
	for _, f := range g.fields {
		n.Expr(f.Arg)
	}
	n.End()
}

// passage implements passer.
func (g *group) passage() passage.Func {
	if g.part {
		return nil
	}
	return passage.OfKey(g.spec.Lookup("_id"))
}

// Explain implements parsing.Stage.
func (g *group) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	return parsing.Forms(bsonx.NewDoc("$group", g.form(x.Serializer))), nil
}

func (g *group) form(e expr.Serializer) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	if g.bucket != nil {
		b.Value("_id", g.bucket.form(g.id, e))
	} else {
		b.Value("_id", e.Expression(g.spec.Lookup("_id")))
	}
	for it := g.spec.Iter(); it.Next(); {
		if name := string(it.Key()); name != "_id" && !strings.HasPrefix(name, "$") {
			use := it.Value().Doc().First()
			b.Value(name, accumulator.Serialize(e, string(use.Key), use.Value))
		}
	}
	b.Bool("$willBeMerged", false)
	b.End()
	return bsonx.Doc(b.Bytes())
}

// Figures implements parsing.Measured.
func (*group) Figures(b *bsonx.Builder, run *parsing.Run) {
	run.Out.Append(b)
	src, ok := run.Opened.(*groupSource)
	if !ok {
		return
	}
	b.StartDocField("maxAccumulatorMemoryUsageBytes")
	for i, name := range src.group.names {
		b.Int64(name, src.used.of(i))
	}
	b.End()
	b.Int64("totalOutputDataSizeBytes", run.Out.Bytes)
	parsing.AppendSpilled(b, src.spill.Count(), src.spill.Size())
}

// onlyCounts implements counting.
func (g *group) onlyCounts() bool {
	_, constant := expr.ConstValue(g.id)
	for _, f := range g.fields {
		_, ok := expr.ConstValue(f.Arg)
		constant = constant && ok
	}
	return constant
}
