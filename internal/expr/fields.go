package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
)

// Fields are the top-level fields that some expressions read, so that one walk over a document
// gives all of them. It is immutable.
type Fields struct {
	names []string
	index map[string]int // the positions of names
	meta  []string       // the kinds of metadata
}

// BindFields lets expressions read the fields of the document through Context.Load. It belongs to
// the compilation of what they are part of: nobody may evaluate them yet. With a context that has
// not loaded the Fields returned they read the document in Root itself, so that they may go
// elsewhere; the last call counts. It fails where the operation ends; then the expressions are not
// used any more.
func BindFields(running *interrupt.Running, list ...Expr) (*Fields, error) {
	f := &Fields{}
	var meter interrupt.Meter
	var ended error
	for _, e := range list {
		Walk(e, func(e Expr) bool {
			if ended == nil {
				ended = meter.Did(bindWork, running)
			}
			if ended != nil {
				return false
			}
			switch e := e.(type) {
			case *Path:
				if e.slot == rootSlot && len(e.parts) > 0 {
					e.fields, e.field = f, f.want(e.parts[0])
				}
			case *metaExpr:
				f.meta = append(f.meta, e.name)
			}
			return true
		})
		if ended != nil {
			return nil, ended
		}
	}
	if n := int64(len(f.names) * placeBytes); n >= memory.Step {
		if err := memory.Of(running.Context()).Add(n); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// placeBytes is about what a field takes in Fields.
const placeBytes = 72

// bindWork is the work of binding an expression: a place in a map that grows.
const bindWork = 4 * interrupt.Step

// MetaKinds returns the names of the metadata that the expressions read.
func (f *Fields) MetaKinds() []string { return f.meta }

// want returns the number of a field.
func (f *Fields) want(name string) int {
	if i, ok := f.index[name]; ok {
		return i
	}
	if f.index == nil {
		f.index = map[string]int{}
	}
	f.index[name] = len(f.names)
	f.names = append(f.names, name)
	return len(f.names) - 1
}

// Load makes doc the document, for expressions that were bound to f and for others. They must not
// be evaluated with another Root before the next Load.
func (c *Context) Load(f *Fields, doc bsonx.Doc) {
	c.Root, c.built = bsonx.Document(doc), 0
	if c.loaded != f {
		c.loaded, c.reader = f, bsonx.NewFieldReader(f.names, f.index)
	}
	c.reader.Read(doc)
}

// Rest is Forget before a time in which nothing is computed: it lets go of values that were
// computed, too.
func (c *Context) Rest() {
	c.Forget()
	clear(c.stack[:cap(c.stack)])
}

// Forget lets go of the document and its metadata.
func (c *Context) Forget() {
	c.Root, c.Meta = bsonx.Missing, nil
	if c.reader != nil {
		c.reader.Read(nil)
	}
}
