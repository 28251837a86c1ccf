package update

import (
	"slices"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Parse compiles an update. A document whose first field begins with $ holds operators, any other
// document is a replacement, and an array is a pipeline. The Update borrows the bytes of u.
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
	// A replacement does not use array filters, but they are checked.
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
	parts   []component // of the current path
	first   *leaf       // memory for a leaf, nil once used
	meter   interrupt.Meter
	fields  int // number of compiled operator fields
}

const (
	// fieldWork is the work of compiling a field of an operator, in addition to its bytes.
	fieldWork = 4 * interrupt.Step
	// fieldBytes is the approximate memory of a field while it is compiled, without its value.
	fieldBytes = 256
	// fieldsPerCount is the number of fields after which their memory is counted.
	fieldsPerCount = 4096
)

// count counts a field. If an operation has several updates, each is compiled when it is its turn,
// so only the largest counts.
func (p *parser) count() error {
	if p.fields++; p.fields%fieldsPerCount != 0 {
		return nil
	}
	return memory.Of(p.opts.Running.Context()).Value(int64(p.fields) * fieldBytes / 2) // Value counts twice the number
}

// compilation is the memory of an update with one path of one name, the most frequent form. Other
// updates need more memory.
type compilation struct {
	update   Update
	root     objectNode
	children [1]child
	leaf     leaf
	paths    [1]string
}

// parsers pools the memory for compiling.
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
	if def.name == "$rename" {
		return p.rename(def, path, arg)
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

// add puts an operator into the trie.
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

// parseFilter compiles a condition.
func (o *Options) parseFilter(doc bsonx.Doc) (Matcher, error) {
	if o.Compiler == nil {
		return nil, mongoerr.New(mongoerr.NotImplemented, "conditions are not available in this update")
	}
	return o.Compiler.CompileFilter(doc)
}

// compare returns the operation's comparison of values, which may use a collation.
func (o *Options) compare() func(a, b bsonx.Value) int {
	if o.Compare != nil {
		return o.Compare
	}
	return bsonx.CompareValues
}
