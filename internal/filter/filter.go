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
	// Root is the tree; it must not be changed.
	Root Node

	opts     Options
	spec     bsonx.Doc
	running  *interrupt.Running
	stateful bool
	weight   int // the work that a byte of a document may make; 0 is next to nothing
	text     bool
	nodes    int       // how many predicates the document has, 0 for a filter that was not parsed
	states   sync.Pool // of *state
}

// Predicates returns about how many predicates the document of the filter has.
func (f *Filter) Predicates() int { return f.nodes }

// Parse compiles a filter document.
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
	return &Filter{Root: root, spec: spec, opts: opts, stateful: fails, weight: weight,
		running: opts.Vars.Scripts().Running}
}

// Part returns the filter of one of the nodes of f, which serves the same operation. The node must
// not be about text.
func (f *Filter) Part(n Node) *Filter { return newFilter(n, nil, f.opts) }

// At returns the filter at another time, for $$NOW. It serves the same operation.
func (f *Filter) At(now time.Time) *Filter {
	opts := f.opts
	opts.Now = now
	return &Filter{
		Root: f.Root, spec: f.spec, opts: opts, stateful: f.stateful, weight: f.weight,
		running: f.running, text: f.text, nodes: f.nodes,
	}
}

// equality is a filter of the most frequent form, { path: value }, in one piece of memory.
type equality struct {
	filter  Filter
	compare comparison
}

// parseEquality compiles a document with one field and a value that is no document of operators. It
// returns nil for any other.
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

// collatedWeight is the work of comparing a byte of a document, by a collation, with a value of n
// bytes. Whoever compares more than the collator does without a look has a state to keep its end
// in.
func collatedWeight(n int) int { return 17 + n }

func (f *Filter) newState() *state {
	return &state{ctx: expr.Context{Now: f.opts.Now, Random: f.opts.Random}, running: f.running}
}

// lightWork is how much work a match may do that counts as none: a stage or $pull matches some
// thousand small documents between two looks at its operation.
const lightWork = 1 << 16

// judge reports whether matching can fail, which needs a state to keep the error in, and how much
// work it does for a byte of a document.
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
			weight += 8 // the positions of a list
		default:
		}
		return true
	})
	return fails, weight
}

// isLight reports whether a document is matched so quickly that nobody needs to interrupt it.
func (f *Filter) isLight(size int) bool { return !f.stateful && f.weight*size < lightWork }

// HasText reports whether there is a $text in the filter, which may be nil.
func (f *Filter) HasText() bool { return f != nil && f.text }

// Text returns the $text of the filter, which may be nil, or nil.
func (f *Filter) Text() *Text {
	if !f.HasText() {
		return nil
	}
	return TextOf(f.Root)
}

// Spec returns the filter document that was parsed; it must not be changed.
func (f *Filter) Spec() bsonx.Doc { return f.spec }

// Collation returns the collation that strings are compared with, or nil.
func (f *Filter) Collation() *collation.Collator { return f.opts.Collation }

// Match reports whether a document satisfies the filter.
func (f *Filter) Match(doc bsonx.Doc) (bool, error) {
	if f.isLight(len(doc)) {
		return f.Root.matchDoc(doc, nil), nil
	}
	return f.MatchDetails(doc, nil)
}

// MatchDetails is Match and, for a document that matches, fills in d, which may be nil. Which
// predicate is the last one to match, and so decides, is MongoDB's choice on a canonical filter:
// see Normalize.
func (f *Filter) MatchDetails(doc bsonx.Doc, d *Details) (bool, error) {
	if d == nil && f.isLight(len(doc)) {
		return f.Root.matchDoc(doc, nil), nil
	}
	if d != nil {
		d.Reset()
	}
	return f.withState(d, func(st *state) bool { return f.Root.matchDoc(doc, st) })
}

// withState runs a match with a state.
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

// MatchElem reports whether a single value satisfies the filter as an array element satisfies the
// value form of $elemMatch.
func (f *Filter) MatchElem(v bsonx.Value) bool { return f.Root.matchElem(v, nil) }
