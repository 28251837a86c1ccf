package parsing

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/projection"
)

// Needs collects what stages, one after the other, read of the documents of the first one.
type Needs struct {
	paths   []string
	whole   bool            // all of a document
	done    bool            // the following stages see only what the stages until here have made
	defined map[string]bool // top-level fields that a stage made
}

// maxNeeded is how many paths a projection to what a pipeline reads may have. No index covers more,
// and what it saves of a document is not worth the time that a pipeline with hundreds of thousands
// of paths would take.
const maxNeeded = 1 << 12

// Many notes that a stage reads n paths, and reports whether they are too many to be looked at one
// by one.
func (n *Needs) Many(paths int) bool {
	n.whole = n.whole || paths > maxNeeded
	return n.whole
}

// Path notes a path that an expression reads. A position in an array cannot be projected.
func (n *Needs) Path(path string) {
	if n.Many(len(n.paths)) {
		return
	}
	if n.defined[TopField(path)] {
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

// Field notes that anything but an expression reads a path: predicates and sorts tell apart elements of arrays that a projection to the path
// makes alike.
func (n *Needs) Field(path string) { n.Path(TopField(path)) }

// Expr notes what an expression reads.
func (n *Needs) Expr(e expr.Expr) {
	deps := expr.Dependencies{Most: maxNeeded}
	deps.Depend(e)
	n.Dependencies(deps)
}

// Dependencies notes what expressions read.
func (n *Needs) Dependencies(deps expr.Dependencies) {
	if n.whole = n.whole || deps.WholeDocument || deps.Meta; n.whole {
		return
	}
	for _, path := range deps.Paths {
		n.Path(path)
	}
}

// Define notes that a stage sets a field. What it sets below a top-level field depends on what is there.
func (n *Needs) Define(path string) {
	if name := TopField(path); name != path {
		n.Field(name)
		return
	}
	if n.defined == nil {
		n.defined = map[string]bool{}
	}
	n.defined[path] = true
}

// End notes that the stage's documents have nothing but what it read.
func (n *Needs) End() { n.done = true }

// Whole notes that a stage reads all of a document.
func (n *Needs) Whole() { n.whole = true }

// Ordered notes that the order of the fields shows: a field that a stage before set stands where
// the document had it.
func (n *Needs) Ordered() { n.defined = nil }

// IsWhole reports whether a stage reads all of a document.
func (n *Needs) IsWhole() bool { return n.whole }

// IsDone reports whether the following stages read nothing more.
func (n *Needs) IsDone() bool { return n.done }

// TopFields returns the top-level fields that are read, in order.
func (n *Needs) TopFields() []string {
	fields := make([]string, len(n.paths))
	for i, path := range n.paths {
		fields[i] = TopField(path)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// Projection returns the projection to the fields that are read, and its specification; nil if none
// is read, or if a projection cannot have a name.
func (n *Needs) Projection() (*projection.Projection, bsonx.Doc) {
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
		id = id || TopField(path) == "_id"
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

// TopField returns the first component of a path.
func TopField(path string) string {
	name, _, _ := strings.Cut(path, ".")
	return name
}
