package projection

import (
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
)

// Options contains the context in which a projection is compiled.
type Options struct {
	// Filter is the predicate of the command. Only the positional operator needs it. It may be nil.
	Filter *filter.Filter
	// Collation compares strings in $elemMatch; nil means binary comparison.
	Collation *collation.Collator
	// Vars is the scope of expressions. A nil Vars has only the system variables.
	Vars *expr.Vars
	// Now is the value of $$NOW.
	Now time.Time

	held memory.Tally // the memory of the compiled specification
}

// Estimates of memory in bytes: of a node, of a field, and of an entry in the index of a node with
// many fields. pathBytes is an upper bound for the overhead of allocating a path.
const (
	nodeBytes  = int64(unsafe.Sizeof(node{})) + 8
	fieldBytes = int64(unsafe.Sizeof(field{}))
	placeBytes = 48
	pathBytes  = 8

	// Estimates of memory in bytes for the operators of find, in addition to their fields.
	elemMatchBytes = 448
	sliceBytes     = 96
)

// hold adds n bytes of the compiled specification to the memory of the operation. The memory of a
// small specification is not counted, and neither is memory for nil Options.
func (o *Options) hold(n int64) error {
	if o == nil {
		return nil
	}
	return o.held.Add(o.Vars.Scripts().Running.Context(), n)
}

// added returns the estimated memory of the last field of the node, in bytes.
func (n *node) added() int64 {
	if len(n.fields) > manyFields {
		return fieldBytes + placeBytes
	}
	return fieldBytes
}

// Meta is the additional input of a projection for one document.
type Meta struct {
	expr.Meta
	// ArrayIndex is the index of the array element that the query matched, for the positional
	// operator. It is valid if HasArrayIndex is true. Otherwise the query is matched again.
	ArrayIndex    int
	HasArrayIndex bool
	// Vals contains the values of the variables in Options.Vars by slot.
	Vals []bsonx.Value
}

// kind determines the treatment of the fields that a specification does not name.
type kind int

const (
	undecided kind = iota
	inclusion      // other fields are dropped
	exclusion      // other fields are kept
	addition       // other fields are kept; scalars on the path of a computed field are replaced
)

// Projection is a compiled specification.
type Projection struct {
	kind     kind
	spec     bsonx.Doc // the original specification, for Serialize
	root     *node
	after    []rewrite
	fields   *expr.Fields // the top-level fields that the expressions read
	identity bool
	size     int // the number of fields in the specification
	now      time.Time
	running  *interrupt.Running // signals interrupts of the operation; nil never does
	contexts sync.Pool
}

// newProjection completes a projection. It fails if the operation was interrupted.
func newProjection(k kind, spec bsonx.Doc, root *node, opts *Options) (*Projection, error) {
	p := &Projection{kind: k, spec: spec, root: root, now: opts.Now, running: opts.Vars.Scripts().Running}
	f := finisher{kind: k, running: p.running}
	root.finish(&f)
	if f.err != nil {
		return nil, f.err
	}
	var err error
	p.size = f.fields
	p.fields, err = expr.BindFields(p.running, root.expressions(nil)...)
	p.contexts.New = func() any { return new(expr.Context) }
	return p, err
}

// Apply appends the projection of doc to dst. meta may be nil.
func (p *Projection) Apply(dst []byte, doc bsonx.Doc, meta *Meta) ([]byte, error) {
	if p.identity {
		return append(dst, doc...), nil
	}
	if !p.root.computes && len(p.after) == 0 {
		return p.root.plain(dst, doc, p.kind), nil
	}
	ctx := p.contexts.Get().(*expr.Context)
	defer p.release(ctx)
	return p.evaluate(dst, doc, meta, ctx)
}

// Applier applies a projection for one goroutine, and reuses its expression context for the next
// document.
type Applier struct {
	projection *Projection
	ctx        expr.Context
}

// Applier returns a new Applier of the projection.
func (p *Projection) Applier() *Applier { return &Applier{projection: p} }

// Rest releases the last document and the values computed from it.
func (a *Applier) Rest() { a.ctx.Rest() }

// SetMeta sets the metadata of the next document. m may be nil.
func (a *Applier) SetMeta(m *expr.Meta) { a.ctx.Meta = m }

// Apply appends the projection of doc to dst. It uses only the metadata of SetMeta.
func (a *Applier) Apply(dst []byte, doc bsonx.Doc) ([]byte, error) {
	if p := a.projection; !p.identity && p.root.computes {
		return p.evaluate(dst, doc, nil, &a.ctx)
	}
	return a.projection.Apply(dst, doc, nil)
}

// evaluate implements Apply for a projection that computes fields or rewrites its output.
func (p *Projection) evaluate(dst []byte, doc bsonx.Doc, meta *Meta, ctx *expr.Context) ([]byte, error) {
	ctx.Now, ctx.Running = p.now, p.running
	ctx.Load(p.fields, doc)
	if meta != nil {
		ctx.Meta = &meta.Meta
		ctx.Vals = append(ctx.Vals[:0], meta.Vals...)
	}
	return p.apply(dst, doc, meta, ctx)
}

func (p *Projection) apply(dst []byte, doc bsonx.Doc, meta *Meta, ctx *expr.Context) ([]byte, error) {
	if len(p.after) == 0 {
		out, err := p.root.document(dst, doc, p.kind, ctx)
		if err != nil {
			err = p.root.firstError(doc, ctx, err)
		}
		return out, err
	}
	out, err := p.root.document(nil, doc, p.kind, ctx)
	if err != nil {
		return dst, p.root.firstError(doc, ctx, err)
	}
	for i, rewrite := range p.after {
		var to []byte
		if i == len(p.after)-1 {
			to = dst
		}
		if out, err = rewrite.apply(to, doc, bsonx.Doc(out), meta); err != nil {
			return dst, err
		}
	}
	return out, nil
}

// release drops the references of the context to the document, and returns the context to the pool.
func (p *Projection) release(ctx *expr.Context) {
	ctx.Forget()
	p.contexts.Put(ctx)
}

// Fields returns the dotted paths that the projection includes, with _id unless it is excluded.
// simple is true only for a plain inclusion, which reads no other part of a document.
func (p *Projection) Fields() (paths []string, simple bool) {
	if p.kind != inclusion || p.root.computes || len(p.after) > 0 {
		return nil, false
	}
	return p.root.included(nil, ""), true
}

// Reads returns the dotted paths that the projection needs of a document. ok is false if it needs
// more: the whole document, metadata, or the input of a positional operator.
func (p *Projection) Reads() (paths []string, ok bool) {
	if paths, simple := p.Fields(); simple {
		return paths, true
	}
	if p.kind != inclusion || len(p.after) > 0 {
		return nil, false
	}
	deps := p.Dependencies()
	paths = deps.Paths
	for _, computed := range p.root.computed(nil, "") {
		// A computed field inside another field is added to each document of an array in it, so the
		// whole outer field is read.
		if top, _, dotted := strings.Cut(computed, "."); dotted {
			paths = append(paths, top)
		}
	}
	return paths, !deps.WholeDocument && !deps.Meta
}

// IsInclusion reports whether the projection drops the fields that it does not name.
func (p *Projection) IsInclusion() bool { return p.kind == inclusion }

// IsSimple reports whether the projection only includes or excludes top-level fields: MongoDB's
// PROJECTION_SIMPLE.
func (p *Projection) IsSimple() bool {
	return !p.root.computes && !p.root.branches && len(p.after) == 0
}

// IsIdentity reports whether the projection changes nothing.
func (p *Projection) IsIdentity() bool { return p.identity }

// NeedsDetails reports whether the projection has the positional operator, which needs
// Meta.ArrayIndex.
func (p *Projection) NeedsDetails() bool {
	for _, r := range p.after {
		if _, ok := r.(*positional); ok {
			return true
		}
	}
	return false
}

// MetaKinds returns the kinds of metadata that the expressions read, by their names in $meta.
func (p *Projection) MetaKinds() []string { return p.fields.MetaKinds() }

// Positional reports whether the projection has the positional operator.
func (p *Projection) Positional() bool {
	return slices.ContainsFunc(p.after, func(r rewrite) bool { _, ok := r.(*positional); return ok })
}

// Size returns the number of fields that the specification names.
func (p *Projection) Size() int { return p.size }

// Dependencies returns the data that the projection reads. An exclusion or addition needs the whole
// document.
func (p *Projection) Dependencies() expr.Dependencies {
	deps := expr.Dependencies{WholeDocument: p.kind != inclusion}
	deps.Paths = p.root.included(nil, "")
	for _, r := range p.after {
		if at, ok := r.(*positional); ok && at.query != nil {
			deps.WholeDocument = true
		}
	}
	p.root.depend(&deps)
	return deps
}
