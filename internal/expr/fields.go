package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
)

// Fields is a list of top-level fields that several expressions read. One pass over a document
// finds all of them. It is immutable.
type Fields struct {
	names []string
	index map[string]int // the position in names by name
	meta  []string       // the kinds of metadata that the expressions read
}

// BindFields makes the path expressions in list read their top-level fields through Context.Load.
// It is part of compiling: no goroutine may evaluate the expressions yet. A Context that has not
// loaded the returned Fields still reads the document in Root. If an expression is bound twice, the
// last call counts. BindFields fails if the operation was interrupted; the expressions must not be
// used then.
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

// placeBytes estimates the memory of a field in Fields, in bytes.
const placeBytes = 72

// bindWork is the work of binding one expression, in the units of interrupt.Meter:
// inserting into a growing map.
const bindWork = 4 * interrupt.Step

// MetaKinds returns the kinds of metadata that the expressions read, by their names in $meta.
func (f *Fields) MetaKinds() []string { return f.meta }

// want returns the position of the field in f.names, and adds the field if necessary.
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

// Load makes doc the current document, for expressions that were bound to f and for others. Until
// the next Load, Root must not be changed.
func (c *Context) Load(f *Fields, doc bsonx.Doc) {
	c.Root, c.built = bsonx.Document(doc), 0
	if c.loaded != f {
		c.loaded, c.reader = f, bsonx.NewFieldReader(f.names, f.index)
	}
	c.reader.Read(doc)
}

// Rest releases the document, its metadata and computed values. It is called before a pause, such
// as between two batches of a cursor.
func (c *Context) Rest() {
	c.Forget()
	clear(c.stack[:cap(c.stack)])
}

// Forget releases the document and its metadata.
func (c *Context) Forget() {
	c.Root, c.Meta = bsonx.Missing, nil
	if c.reader != nil {
		c.reader.Read(nil)
	}
}
