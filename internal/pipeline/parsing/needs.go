package parsing

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/projection"
)

// Needs collects which fields of the input documents a sequence of stages reads. Each stage adds
// its own, in order.
type Needs struct {
	paths   []string
	whole   bool            // some stage reads the whole document
	done    bool            // later stages read only fields that the stages so far have computed
	defined map[string]bool // top-level fields that a stage has set
}

// maxNeeded is the largest number of paths in a projection of the needed fields. No index covers
// more paths. The documents would not become small enough to justify the time that a pipeline with
// hundreds of thousands of paths takes.
const maxNeeded = 1 << 12

// Many records that a stage reads the given number of paths. It returns true if they are too many,
// and the whole document is needed.
func (n *Needs) Many(paths int) bool {
	n.whole = n.whole || paths > maxNeeded
	return n.whole
}

// Path records a path that an expression reads. The path is cut before an array index, because a
// projection cannot name array elements.
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

// Field records a path read by a predicate or a sort. It keeps the whole top-level field, because
// projecting to the path would merge array elements that they distinguish.
func (n *Needs) Field(path string) { n.Path(TopField(path)) }

// Expr records the paths that an expression reads.
func (n *Needs) Expr(e expr.Expr) {
	deps := expr.Dependencies{Most: maxNeeded}
	deps.Depend(e)
	n.Dependencies(deps)
}

// Dependencies records the paths in deps.
func (n *Needs) Dependencies(deps expr.Dependencies) {
	if n.whole = n.whole || deps.WholeDocument || deps.Meta; n.whole {
		return
	}
	for _, path := range deps.Paths {
		n.Path(path)
	}
}

// Define records that a stage sets the field path, so later stages do not need the original value.
// A path below a top-level field needs that field, because the result depends on it.
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

// End records that the output of a stage contains nothing but values that it computed. Later stages
// need no more fields.
func (n *Needs) End() { n.done = true }

// Whole records that a stage reads the whole document.
func (n *Needs) Whole() { n.whole = true }

// Ordered records that the output of a stage shows the order of the input fields. A field that an
// earlier stage set keeps its position in the document, so the field is needed after all.
func (n *Needs) Ordered() { n.defined = nil }

// IsWhole reports whether a stage reads the whole document.
func (n *Needs) IsWhole() bool { return n.whole }

// IsDone reports whether later stages need no more fields.
func (n *Needs) IsDone() bool { return n.done }

// TopFields returns the names of the needed top-level fields, sorted.
func (n *Needs) TopFields() []string {
	fields := make([]string, len(n.paths))
	for i, path := range n.paths {
		fields[i] = TopField(path)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// Projection returns a projection to the needed fields and its specification. Both are nil if no
// field is needed, or if a name is not valid in a projection.
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
		return nil, nil // a name that is not valid in a projection
	}
	return p, b.Bytes()
}

// hasPrefix reports whether path is below a path in named.
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
