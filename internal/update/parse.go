package update

import (
	"slices"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Parse compiles an update. A document whose first field begins with $ contains update operators.
// Any other document is a replacement, and an array is a pipeline. The Update borrows the bytes of
// u.
func Parse(u bsonx.Value, opts Options) (*Update, error) {
	switch {
	case u.Type == bsonx.TypeArray:
		return parsePipeline(u, &opts)
	case u.Type != bsonx.TypeDocument:
		return nil, mongoerr.New(mongoerr.FailedToParse, "Update argument must be either an object or an array")
	}
	first := u.Doc().First().Key
	if len(first) > 0 && first[0] == '$' {
		return parseOperators(u, &opts)
	}
	// A replacement does not use array filters, but invalid ones are errors.
	if _, err := parseArrayFilters(&opts); err != nil {
		return nil, err
	}
	return &Update{kind: KindReplacement, replacement: u.Doc()}, nil
}

func parsePipeline(u bsonx.Value, opts *Options) (*Update, error) {
	if len(opts.ArrayFilters) > 0 {
		return nil, mongoerr.New(mongoerr.FailedToParse, "arrayFilters may not be specified for pipeline-style updates")
	}
	if opts.Compiler == nil {
		return nil, mongoerr.New(mongoerr.NotImplemented, "pipeline-style updates are not available here")
	}
	t, err := opts.Compiler.CompilePipeline(u)
	if err != nil {
		return nil, err
	}
	return &Update{kind: KindPipeline, transform: t}, nil
}

// parser is the state of compiling one operator document.
type parser struct {
	opts    Options
	filters []*arrayFilter
	out     *Update
	parts   []component // the components of the current path
	first   *leaf       // memory for one leaf; nil once it is used
	meter   interrupt.Meter
	fields  int // the number of operator fields compiled so far
}

const (
	// fieldWork is the work of compiling one field of an operator, in addition to its bytes, in the
	// units of interrupt.Meter.
	fieldWork = 4 * interrupt.Step
	// fieldBytes estimates the memory of a field during compilation in bytes, without its value.
	fieldBytes = 256
	// fieldsPerCount is the number of fields between two checks of the memory limit.
	fieldsPerCount = 4096
)

// count adds one field to the number of fields, and checks the memory limit from time to time. The
// memory is counted only until the update is applied: an operation with several updates compiles
// each when it needs it.
func (p *parser) count() error {
	if p.fields++; p.fields%fieldsPerCount != 0 {
		return nil
	}
	// memory.Operation.Value reserves twice its argument.
	return memory.Of(p.opts.Running.Context()).Value(int64(p.fields) * fieldBytes / 2)
}

// compilation is memory for the most frequent form of an update, with one path of one name. Other
// updates allocate more.
type compilation struct {
	update   Update
	root     objectNode
	children [1]child
	leaf     leaf
	paths    [1]string
}

// parsers is a pool of parsers, because their memory is needed only while compiling.
var parsers = sync.Pool{New: func() any { return new(parser) }}

func parseOperators(u bsonx.Value, opts *Options) (*Update, error) {
	c := new(compilation)
	c.root.children = c.children[:0]
	c.update.kind, c.update.root, c.update.paths = KindOperators, &c.root, c.paths[:0]
	p := parsers.Get().(*parser)
	p.opts, p.out, p.first = *opts, &c.update, &c.leaf
	err := p.operators(u)
	clear(p.parts)
	*p = parser{parts: p.parts[:0]}
	parsers.Put(p)
	if err != nil {
		return nil, err
	}
	return &c.update, nil
}

func (p *parser) operators(u bsonx.Value) error {
	var err error
	if p.filters, err = parseArrayFilters(&p.opts); err != nil {
		return err
	}
	for it := u.Doc().Iter(); it.Next(); {
		def := findOperator(string(it.Key()))
		if def == nil {
			return mongoerr.New(mongoerr.FailedToParse,
				"Unknown modifier: %s. Expected a valid update modifier or pipeline-style update specified as an array", it.Key())
		}
		arg := it.Value()
		if arg.Type != bsonx.TypeDocument {
			return mongoerr.New(mongoerr.FailedToParse, "Modifiers operate on fields but we found type %s instead. "+
				"For example: {$mod: {<field>: ...}} not {%s: %s}", arg.Type, it.Key(), shell(arg))
		}
		for fields := arg.Doc().Iter(); fields.Next(); {
			if err := p.meter.Did(fieldWork+len(fields.Value().Data), p.opts.Running); err != nil {
				return err
			}
			if err := p.count(); err != nil {
				return err
			}
			if err := p.field(def, string(fields.Key()), fields.Value()); err != nil {
				return err
			}
		}
	}
	if err := checkUsed(p.filters, u); err != nil {
		return err
	}
	if p.out.collated = p.opts.Compare != nil; p.out.collated {
		if err := p.opts.Running.Err(); err != nil {
			return err
		}
	}
	if len(p.out.paths) > manyChildren {
		if err := putInOrder(p.out.root, &p.meter, p.opts.Running); err != nil {
			return err
		}
	}
	slices.Sort(p.out.paths)
	p.out.paths = slices.Compact(p.out.paths)
	return nil
}

// field compiles one path and argument of an operator.
func (p *parser) field(def *definition, path string, arg bsonx.Value) error {
	if def.add != nil {
		return def.add(p, def, path, arg)
	}
	var err error
	if p.parts, err = parsePath(p.parts[:0], path); err != nil {
		return err
	}
	op, err := def.parse(p, path, arg)
	if err != nil {
		return err
	}
	return p.add(def, p.parts, path, op)
}

// add adds an operator to the trie.
func (p *parser) add(def *definition, parts []component, path string, op operator) error {
	l := p.first
	if p.first = nil; l == nil {
		l = new(leaf)
	}
	*l = leaf{
		op: op, path: path, insertOnly: def.insertOnly,
		onID: parts[0].name == "_id", dollar: parts[0].name[0] == '$',
	}
	if slices.ContainsFunc(parts, func(c component) bool { return c.step == stepPositional }) {
		p.out.positional = true
	}
	p.out.paths = append(p.out.paths, touched(path))
	return p.out.root.add(parts, l, p.filters)
}

// parseFilter compiles a filter of arrayFilters or $pull.
func (o *Options) parseFilter(doc bsonx.Doc) (Matcher, error) {
	if o.Compiler == nil {
		return nil, mongoerr.New(mongoerr.NotImplemented, "conditions are not available in this update")
	}
	return o.Compiler.CompileFilter(doc)
}

// compare returns the function that compares values, which may use a collation.
func (o *Options) compare() func(a, b bsonx.Value) int {
	if o.Compare != nil {
		return o.Compare
	}
	return bsonx.CompareValues
}
