package pipeline

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// group is $group. Groups come out in the order in which their first documents came in, unless they were spilled.
type group struct {
	id expr.Expr
	outputs
	opts parsing.Options
	spec bsonx.Doc // what it was compiled from, for explain
	// bucket computes the _id of $bucket, which spec does not contain.
	bucket *bucketArguments
	read   reader // of the parts of the id, then of the accumulators' operands
	// readsMeta is true where an operand is metadata of the document.
	readsMeta bool
	// Where the id is an object, the names of its parts; their values are what identifies a group.
	parts []string
	// What the stage was before it did the work of those before it; nil where it does not.
	plain *group
}

// outputs are the fields that stages compute with accumulators.
type outputs struct {
	names  []string
	fields []*accumulator.Accumulation
	meter  interrupt.Meter // while they are compiled
}

func groupDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$group", Parse: parseGroup,
		Properties: parsing.OfDocuments(), Inside: insideGroup,
		Budget: parsing.Budget{Param: "internalDocumentSourceGroupMaxMemoryBytes", Least: 1},
	}
}

func parseGroup(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(15947, "a group's fields must be specified in an object")
	}
	return (&group{opts: opts, spec: arg.Doc()}).parse()
}

// parse compiles the fields of the specification. The _id of $bucket is already set.
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
	if c, ok := expr.ConstValue(id); ok && c.Type == bsonx.TypeDocument && c.Doc().IsEmpty() && v.Type == bsonx.TypeDocument && v.Doc().Len() == 1 && !isOperatorCall(v.Doc()) {
		// The only field is a constant that is missing: it is null, as in idPart.
		return expr.Parse(bsonx.Document(bsonx.NewDoc(string(v.Doc().First().Key), bsonx.Null)), opts.Vars)
	}
	return id, nil
}

// isOperatorCall reports whether a document is {$operator: …}.
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
		return mongoerr.New(40238, "The field '%s' must specify one accumulator: %s: %s", name, name, bsonx.FormatShell(v))
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

// args are the expressions whose values are accumulated.
func (o *outputs) args() []expr.Expr {
	list := make([]expr.Expr, len(o.fields))
	for i, f := range o.fields {
		list[i] = f.Arg
	}
	return list
}

// start returns new accumulators for a group, and how much memory they take.
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

// add gives a document's values, from the n-th of r, to the accumulators, and returns how much more memory they take.
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

// fieldsPerLook is how many fields of one document are computed between two looks at the operation.
const fieldsPerLook = 1 << 10

// lookAt looks at the operation now and then, for the i-th of the fields that a stage computes of
// one document.
func lookAt(i int, running *interrupt.Running) error {
	if i%fieldsPerLook != fieldsPerLook-1 {
		return nil
	}
	return running.Err()
}

// document writes a result: the _id and what the accumulators gathered.
func (o *outputs) document(b *bsonx.Builder, id bsonx.Value, accs []accumulator.Accumulator, running *interrupt.Running) (bsonx.Doc, error) {
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

// append appends what an accumulator has gathered, the i-th of a group. A large value is there
// three times for a moment, of which the accumulator's own is counted elsewhere.
func (o *outputs) append(b *bsonx.Builder, i int, acc accumulator.Accumulator, of func(accumulator.Accumulator) bsonx.Value, running *interrupt.Running) error {
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

// appendedRoom is the room for what follows a large value: the type of the field, and ends.
const appendedRoom = 64

// compile prepares the reading of documents. It fails where the operation ends.
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

// idParts returns how many values identify a group.
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

// BudgetOf implements parsing.Budgeted: other stages become this one.
func (*group) BudgetOf() string { return "$group" }

// passage implements passer.
func (*group) passage(s step) passFunc { return passGroup(s) }
