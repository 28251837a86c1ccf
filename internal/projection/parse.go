package projection

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// fieldWork is the work of compiling one field, in the units of interrupt.Meter.
const fieldWork = 8 * interrupt.Step

// Error codes for conflicting paths: a path that equals or contains an earlier path, and a path
// below an earlier path.
const (
	codeCollision       = mongoerr.Code(31250)
	codeCollisionWithin = mongoerr.Code(31249)
)

// parser is the state of one Parse. It determines the kind of the projection from the fields.
type parser struct {
	opts Options
	find bool // the operators of a find projection are allowed
	kind kind
	root *node

	hasPositional bool
	hasElemMatch  bool
	hasSlice      bool
	hasMeta       bool
	idIncluded    bool
	idExcluded    bool
	idNamed       bool // the specification contains _id or a path below it

	positional *positional
	slices     []*slice
	meter      interrupt.Meter
}

// Parse compiles the projection of a find command. The empty specification keeps the whole
// document.
func Parse(spec bsonx.Doc, opts Options) (*Projection, error) {
	if spec.IsEmpty() {
		p, err := newProjection(exclusion, spec, &node{}, &opts)
		if err != nil {
			return nil, err
		}
		p.identity = true
		return p, nil
	}
	p := &parser{opts: opts, find: true, root: &node{}}
	return p.parse(spec)
}

// ParseStage compiles the specification of $project, which has no operators of its own.
func ParseStage(spec bsonx.Doc, opts Options) (*Projection, error) {
	if spec.IsEmpty() {
		return nil, mongoerr.New(51272, "projection specification must have at least one field")
	}
	p := &parser{opts: opts, root: &node{}}
	out, err := p.parse(spec)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (p *parser) parse(spec bsonx.Doc) (*Projection, error) {
	for it := spec.Iter(); it.Next(); {
		name := string(it.Key())
		if name == "_id" || strings.HasPrefix(name, "_id.") {
			p.idNamed = true
		}
		if err := p.field(name, it.Value(), ""); err != nil {
			return nil, err
		}
	}
	if p.kind == undecided {
		p.kind = p.defaultKind()
	}
	if p.kind == inclusion && !p.idNamed {
		p.root.fields = append(p.root.fields, field{name: "_id", action: keep})
	}
	out, err := newProjection(p.kind, spec, p.root, &p.opts)
	if err != nil {
		return nil, err
	}
	if p.positional != nil {
		out.after = append(out.after, p.positional)
	}
	for _, s := range p.slices {
		out.after = append(out.after, s)
	}
	return out, nil
}

// defaultKind returns the kind of a specification that neither includes nor excludes a plain field,
// by the rules of MongoDB's find.
func (p *parser) defaultKind() kind {
	switch {
	case p.idIncluded:
		return inclusion
	case p.hasElemMatch && !p.hasSlice:
		return inclusion
	case !p.find && p.hasMeta:
		return inclusion
	}
	return exclusion
}

// field compiles one field of a specification. prefix is the path of the enclosing specification,
// with a final dot.
func (p *parser) field(name string, v bsonx.Value, prefix string) error {
	if name == "" { // checked also in a nested document, where the path would end with a dot
		return expr.CheckFieldPath(name)
	}
	path := prefix + name
	atPosition := p.find && strings.HasSuffix(name, ".$")
	if v.Type == bsonx.TypeDocument {
		if atPosition {
			return mongoerr.New(31271, "positional projection cannot be used with an expression or sub object")
		}
		return p.document(path, name, v.Doc())
	}
	if p.find && strings.Contains(name, ".$.") {
		return positionInside()
	}
	if !p.find && strings.HasSuffix(name, ".$") {
		return positionInPipeline()
	}
	if v.Type != bsonx.TypeBool && !v.Type.IsNumber() {
		if atPosition {
			return mongoerr.New(31308, "positional projection cannot be used with a literal")
		}
		return p.literal(path, name, v)
	}
	switch {
	case v.Truthy() && atPosition:
		return p.position(path, name)
	case v.Truthy():
		return p.include(path, name)
	case atPosition:
		return mongoerr.New(31395, "positional projection cannot be used with exclusion")
	default:
		return p.exclude(path, name)
	}
}

func positionInside() error {
	return mongoerr.New(31394, "As of 4.4, it's illegal to specify positional operator in the middle of a path."+
		"Positional projection may only be used at the end, for example: a.b.$. If the query previously used a form "+
		"like a.b.$.d, remove the parts following the '$' and the results will be equivalent.")
}

func positionInPipeline() error {
	return mongoerr.New(31324, "Cannot use positional projection in aggregation projection")
}

// include keeps a path. name is the part of the path that error messages show.
func (p *parser) include(path, name string) error {
	if err := p.add(path, field{action: keep}); err != nil {
		return err
	}
	if path == "_id" {
		p.idIncluded = true
		return nil
	}
	if p.kind == exclusion {
		return mongoerr.New(31253, "Cannot do inclusion on field %s in exclusion projection", name)
	}
	p.kind = inclusion
	return nil
}

func (p *parser) exclude(path, name string) error {
	if err := p.add(path, field{action: drop}); err != nil {
		return err
	}
	if path == "_id" {
		p.idExcluded = true
		return nil
	}
	if p.kind == inclusion {
		return mongoerr.New(31254, "Cannot do exclusion on field %s in inclusion projection", name)
	}
	p.kind = exclusion
	return nil
}

// literal compiles a value that is not a number, bool or document: a field path in a string, an
// array, or a constant.
func (p *parser) literal(path, name string, v bsonx.Value) error {
	e, err := expr.Parse(v, p.opts.Vars)
	if err != nil {
		return err
	}
	if err := p.add(path, field{action: compute, value: e}); err != nil {
		return err
	}
	if p.kind == exclusion {
		return mongoerr.New(31310, "Cannot use an expression %s: %s in an exclusion projection", name, bsonx.FormatShell(v))
	}
	p.kind = inclusion
	return nil
}

// document compiles an entry whose value is a document: an operator or a nested specification.
func (p *parser) document(path, name string, d bsonx.Doc) error {
	if d.IsEmpty() {
		return mongoerr.New(51270, "Invalid empty sub-projection: %s", name)
	}
	first := d.First()
	operator := string(first.Key)
	if strings.HasPrefix(operator, "$") && d.Len() == 1 && !IsReference(operator) {
		return p.operator(path, operator, first.Value, d)
	}
	if _, err := expr.SplitFieldPath(path); err != nil {
		return err
	}
	for it := d.Iter(); it.Next(); {
		if err := p.field(string(it.Key()), it.Value(), path+"."); err != nil {
			return err
		}
	}
	return nil
}

// IsReference reports whether the first name of a path is a field of a DBRef.
func IsReference(path string) bool {
	name, _, _ := strings.Cut(path, ".")
	return bsonx.IsReferenceField(name)
}

// add adds a leaf at a dotted path.
func (p *parser) add(path string, leaf field) error {
	if err := p.meter.Did(fieldWork, p.opts.Vars.Scripts().Running); err != nil {
		return err
	}
	parts, err := expr.SplitFieldPath(path)
	if err != nil {
		return err
	}
	return p.root.add(path, parts, leaf, &p.opts)
}

// add adds a leaf at a path below n, and counts its size in the memory of the operation.
func (n *node) add(path string, parts []string, leaf field, opts *Options) error {
	if err := opts.hold(pathBytes + int64(len(path))); err != nil {
		return err
	}
	for i, part := range parts {
		at := n.position(part)
		last := i == len(parts)-1
		switch {
		case last && at >= 0:
			return mongoerr.New(codeCollision, "Path collision at %s", path)
		case last:
			leaf.name = part
			n.fields = append(n.fields, leaf)
			return opts.hold(n.added())
		case at < 0:
			next := &node{}
			n.fields = append(n.fields, field{name: part, branch: next})
			if err := opts.hold(nodeBytes + n.added()); err != nil {
				return err
			}
			n = next
		case n.fields[at].action != descend:
			return mongoerr.New(codeCollisionWithin, "Path collision at %s remaining portion %s", path,
				strings.Join(parts[i+1:], "."))
		default:
			n = n.fields[at].branch
		}
	}
	return nil
}

func (n *node) position(name string) int {
	if len(n.fields) > manyFields {
		if n.names == nil {
			n.names = &names{index: make(map[string]int32, 2*len(n.fields))}
		}
		index := n.names.index
		for i := len(index); i < len(n.fields); i++ {
			index[n.fields[i].name] = int32(i)
		}
		if i, ok := index[name]; ok {
			return int(i)
		}
		return -1
	}
	for i := range n.fields {
		if n.fields[i].name == name {
			return i
		}
	}
	return -1
}
