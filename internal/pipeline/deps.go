package pipeline

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/pipeline/document"
	"github.com/sheafdb/sheaf/internal/pipeline/foreign"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/unwind"
	"github.com/sheafdb/sheaf/internal/projection"
)

// needer is a stage that tells what it reads of its documents; any other needs all of them.
type needer interface{ needs(n *needs) }

// readerOf returns a stage as a needer, false where it is none.
func readerOf(s parsing.Stage) (needer, bool) {
	switch s := s.(type) {
	case *unwind.Stage:
		return unwindReads{s}, true
	case *foreign.Lookup:
		return lookupReads{s}, true
	default:
		n, ok := s.(needer)
		return n, ok
	}
}

// needs collects what stages, one after the other, read of the documents of the first one.
type needs struct {
	paths   []string
	whole   bool            // all of a document
	done    bool            // what follows sees only what was made of what is noted here
	defined map[string]bool // top-level fields that a stage made
}

// maxNeeded is how many paths a projection to what a pipeline reads may have. No index covers more,
// and what it saves of a document is not worth the time that a pipeline with hundreds of thousands
// of paths would take.
const maxNeeded = 1 << 12

// many notes that a stage reads n paths, and reports whether they are too many to be looked at one
// by one.
func (n *needs) many(paths int) bool {
	n.whole = n.whole || paths > maxNeeded
	return n.whole
}

// path notes a path that an expression reads. A position in an array cannot be projected.
func (n *needs) path(path string) {
	if n.many(len(n.paths)) {
		return
	}
	if n.defined[top(path)] {
		return
	}
	parts := strings.Split(path, ".")
	for i, part := range parts {
		if _, ok := bsonx.ArrayIndex(part); ok && i > 0 {
			parts = parts[:i]
			break
		}
	}
	n.paths = append(n.paths, strings.Join(parts, "."))
}

// field notes what else reads a path: predicates and sorts tell apart elements of arrays that a projection to the path
// makes alike.
func (n *needs) field(path string) { n.path(top(path)) }

// expr notes what an expression reads.
func (n *needs) expr(e expr.Expr) {
	deps := expr.Dependencies{Most: maxNeeded}
	deps.Depend(e)
	n.dependencies(deps)
}

func (n *needs) dependencies(deps expr.Dependencies) {
	if n.whole = n.whole || deps.WholeDocument || deps.Meta; n.whole {
		return
	}
	for _, path := range deps.Paths {
		n.path(path)
	}
}

// filter notes what a predicate reads.
func (n *needs) filter(root filter.Node) {
	p := predicate{}
	p.read(root)
	n.whole = n.whole || p.fixed
	for _, path := range p.paths {
		n.field(path)
	}
}

// define notes that a stage sets a field. What it sets below a top-level field depends on what is there.
func (n *needs) define(path string) {
	if name := top(path); name != path {
		n.field(name)
		return
	}
	if n.defined == nil {
		n.defined = map[string]bool{}
	}
	n.defined[path] = true
}

// end notes that the stage's documents have nothing but what it read.
func (n *needs) end() { n.done = true }

// Needs returns the projection to the fields that the pipeline reads, and its specification; nil where it may need all
// of them, or none.
func (p *Pipeline) Needs() (*projection.Projection, bsonx.Doc) {
	n := &needs{}
	for _, s := range p.steps {
		reader, ok := readerOf(s.Stage)
		if !ok {
			return nil, nil
		}
		reader.needs(n)
		if n.whole {
			return nil, nil
		}
		if n.done {
			return n.projection()
		}
	}
	return nil, nil
}

func (n *needs) projection() (*projection.Projection, bsonx.Doc) {
	slices.Sort(n.paths)
	named := map[string]bool{}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	id := false
	for _, path := range n.paths {
		if named[path] || hasPrefix(named, path) {
			continue
		}
		named[path] = true
		b.Int32(path, 1)
		id = id || top(path) == "_id"
	}
	if len(named) == 0 {
		return nil, nil
	}
	if !id {
		b.Int32("_id", 0)
	}
	b.End()
	p, err := projection.Parse(b.Bytes(), projection.Options{})
	if err != nil {
		return nil, nil // a name that no projection can have
	}
	return p, b.Bytes()
}

// hasPrefix reports whether a path leads below one of those named.
func hasPrefix(named map[string]bool, path string) bool {
	for i := range path {
		if path[i] == '.' && named[path[:i]] {
			return true
		}
	}
	return false
}

func (m *match) needs(n *needs) { n.filter(m.filter.Root) }

func (s *sort) needs(n *needs) {
	for _, key := range s.keys {
		if key.IsMeta() {
			n.whole = true
			return
		}
		n.field(key.Path)
	}
}

func (*limit) needs(*needs) {}

func (*skip) needs(*needs) {}

func (*sample) needs(*needs) {}

func (c *count) needs(n *needs) { n.end() }

func (u unwindReads) needs(n *needs) {
	n.field(u.Path[0])
	if u.Index != nil {
		n.define(strings.Join(u.Index, "."))
	}
}

func (r *replaceRoot) needs(n *needs) {
	n.expr(r.newRoot)
	n.end()
}

func (g *group) needs(n *needs) {
	if n.many(len(g.fields)) {
		return
	}
	n.expr(g.id)
	for _, f := range g.fields {
		n.expr(f.Arg)
	}
	n.end()
}

func (p *project) needs(n *needs) {
	if n.many(p.projection.Size()) {
		return
	}
	computed, deps := p.projection.Computed()
	if p.projection.IsInclusion() {
		// The order of the fields shows: one that a stage before set stands where the document had it.
		deps, n.defined = p.projection.Dependencies(), nil
	}
	n.dependencies(deps)
	for _, path := range computed {
		n.define(path)
	}
	if p.projection.IsInclusion() {
		n.end()
	}
}

func (w *setWindowFields) needs(n *needs) {
	if n.many(len(w.functions)) {
		return
	}
	if w.partition != nil {
		n.expr(w.partition)
	}
	for _, f := range w.functions {
		for _, e := range f.Reads {
			n.expr(e)
		}
	}
	for _, out := range w.output.Children {
		switch {
		case out.Value == document.NoValue: // what is set below a field depends on what is there
			n.field(out.Name)
		case out.Value != document.DropValue:
			n.define(out.Name)
		}
	}
}
