package filter

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Filter is a compiled filter. It is immutable and safe for concurrent use.
type Filter struct {
	// Root is the tree of predicates. It must not be changed.
	Root Node

	opts     Options
	spec     bsonx.Doc
	running  *interrupt.Running
	stateful bool
	weight   int // the work per byte of a document; 0 is almost no work
	text     bool
	// nodes is the number of predicates in the filter document. It is 0 if the filter was not
	// parsed.
	nodes  int
	states sync.Pool // elements are *state
}

// Predicates returns the approximate number of predicates in the filter document.
func (f *Filter) Predicates() int { return f.nodes }

// Parse compiles a filter document. It fails if the document is not a valid filter.
func Parse(doc bsonx.Doc, opts Options) (*Filter, error) {
	if opts.Random == nil {
		opts.Random = rand.Float64
	}
	if opts.Collation != nil {
		opts.Collation = opts.Collation.Serving(opts.Vars.Scripts().Running)
	}
	if !opts.Borrow {
		doc = doc.Clone()
	}
	if f := parseEquality(doc, &opts); f != nil {
		return f, nil
	}
	p := &parser{opts: opts, reg: operatorTable, running: opts.Vars.Scripts().Running}
	p.failures.Copied = !opts.Stage
	root, err := p.parseDoc(doc, levelTop, 0)
	if err == nil {
		err = p.checkTexts(root)
	}
	if err == nil {
		err = p.constantFailure()
	}
	if err != nil {
		return nil, err
	}
	f := newFilter(root, doc, opts)
	f.text, f.nodes = p.texts > 0, p.nodes
	return f, nil
}

func newFilter(root Node, spec bsonx.Doc, opts Options) *Filter {
	fails, weight := judge(root)
	return &Filter{
		Root: root, spec: spec, opts: opts, stateful: fails, weight: weight,
		running: opts.Vars.Scripts().Running,
	}
}

// Part returns a filter of n, a node of f, for the same operation. The node must not contain $text.
func (f *Filter) Part(n Node) *Filter { return newFilter(n, nil, f.opts) }

// At returns a copy of the filter with another value of $$NOW, for the same operation.
func (f *Filter) At(now time.Time) *Filter {
	opts := f.opts
	opts.Now = now
	return &Filter{
		Root: f.Root, spec: f.spec, opts: opts, stateful: f.stateful, weight: f.weight,
		running: f.running, text: f.text, nodes: f.nodes,
	}
}

// equality is a filter of the most frequent form { path: value }. All its parts are in one
// allocation.
type equality struct {
	filter  Filter
	compare comparison
}

// parseEquality compiles a document with one field whose value is not an operator document. It
// returns nil for any other document.
func parseEquality(doc bsonx.Doc, opts *Options) *Filter {
	it := doc.Iter()
	if !it.Next() {
		return nil
	}
	key, v := it.Key(), it.Value()
	if len(key) > 0 && key[0] == '$' || it.Next() {
		return nil
	}
	switch v.Type {
	case bsonx.TypeDocument, bsonx.TypeRegex, bsonx.TypeUndefined:
		return nil
	default:
	}
	e := new(equality)
	e.filter.Root, e.filter.spec, e.filter.opts = e.compare.init(fieldName(key), Eq, v, opts.Collation), doc, *opts
	if opts.Collation != nil {
		e.filter.weight, e.filter.running = collatedWeight(len(v.Data)), opts.Vars.Scripts().Running
	}
	return &e.filter
}

// collatedWeight returns the work per byte of a document for comparing it with a value of n bytes
// with a collation. A filter with a collation must be stateful, because long comparisons check for
// interrupts.
func collatedWeight(n int) int { return 17 + n }

func (f *Filter) newState() *state {
	return &state{ctx: expr.Context{Now: f.opts.Now, Random: f.opts.Random}, running: f.running}
}

// lightWork is the amount of work up to which a match does not check for interrupts. A stage or
// $pull may match some thousand small documents between two checks of its own.
const lightWork = 1 << 16

// judge reports whether matching can fail, in which case it needs a state. It also returns the work
// per byte of a document.
func judge(n Node) (fails bool, weight int) {
	WalkNodes(n, func(n Node) bool {
		weight++
		switch n := n.(type) {
		case *Expr, *Where:
			fails = true
		case *Regex:
			weight += regexWeight
			fails = fails || n.re.MayFail()
		case *Compare:
			if n.Collation != nil {
				weight += collatedWeight(len(n.Value.Data))
			}
		case *In:
			if n.Collation != nil {
				weight += collatedWeight(n.largest)
			}
			weight += regexWeight * len(n.Regexes)
			for _, re := range n.Regexes {
				fails = fails || re.re.MayFail()
			}
		case *Geo:
			weight += n.Region.Vertices()
		case *JSONSchema:
			weight += len(n.Spec)
		case *Bits:
			weight += 8 // a mask may be a list of positions
		case *ElemMatchObject, *ElemMatchValue, *Exists, *GeoNear, *Mod, *Size, *TypeOf:
		case *AlwaysFalse, *AlwaysTrue, *And, *Nor, *Not, *Or, *SampleRate, *Text:
		}
		return true
	})
	return fails, weight
}

// isLight reports whether matching a document of this size is so fast that it need not check for
// interrupts.
func (f *Filter) isLight(size int) bool { return !f.stateful && f.weight*size < lightWork }

// HasText reports whether the filter contains $text. f may be nil.
func (f *Filter) HasText() bool { return f != nil && f.text }

// Text returns the $text of the filter, or nil. f may be nil.
func (f *Filter) Text() *Text {
	if !f.HasText() {
		return nil
	}
	return TextOf(f.Root)
}

// Spec returns the filter document. It must not be changed.
func (f *Filter) Spec() bsonx.Doc { return f.spec }

// Collation returns the collation for strings, or nil.
func (f *Filter) Collation() *collation.Collator { return f.opts.Collation }

// Match reports whether a document matches the filter.
func (f *Filter) Match(doc bsonx.Doc) (bool, error) {
	if f.isLight(len(doc)) {
		return f.Root.matchDoc(doc, nil), nil
	}
	return f.MatchDetails(doc, nil)
}

// MatchDetails is Match. If the document matches, it also fills in d, which may be nil. The last
// predicate that matches through an array determines the details. For a canonical filter it is the
// same predicate as in MongoDB: see Normalize.
func (f *Filter) MatchDetails(doc bsonx.Doc, d *Details) (bool, error) {
	if d == nil && f.isLight(len(doc)) {
		return f.Root.matchDoc(doc, nil), nil
	}
	if d != nil {
		d.Reset()
	}
	return f.withState(d, func(st *state) bool { return f.Root.matchDoc(doc, st) })
}

// withState calls match with a state from the pool, and returns its result or the error of the
// state.
func (f *Filter) withState(d *Details, match func(*state) bool) (bool, error) {
	st, ok := f.states.Get().(*state)
	if !ok {
		st = f.newState()
	}
	st.details, st.err = d, nil
	ok = match(st)
	err := st.err
	st.details, st.ctx.Root = nil, bsonx.Missing
	f.states.Put(st)
	if err != nil {
		return false, err
	}
	return ok, nil
}
