package expr

import "github.com/sheafdb/sheaf/internal/bsonx"

// Fields are the top-level fields that some expressions read, so that one walk over a document gives all of them. It is
// immutable.
type Fields struct {
	names []string
	index map[string]int // the positions of names
}

// BindFields lets expressions read the fields of the document through Context.Load. It belongs to the compilation of what
// they are part of: nobody may evaluate them yet. With a context that has not loaded the Fields returned they read the
// document in Root itself, so that they may go elsewhere; the last call counts.
func BindFields(list ...Expr) *Fields {
	f := &Fields{}
	for _, e := range list {
		Walk(e, func(e Expr) bool {
			if p, ok := e.(*Path); ok && p.slot == rootSlot && len(p.parts) > 0 {
				p.fields, p.field = f, f.want(p.parts[0])
			}
			return true
		})
	}
	return f
}

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

// Load makes doc the document, for expressions that were bound to f and for others. They must not be evaluated with another
// Root before the next Load.
func (c *Context) Load(f *Fields, doc bsonx.Doc) {
	c.Root, c.built = bsonx.Document(doc), 0
	if c.loaded != f {
		c.loaded, c.reader = f, bsonx.NewFieldReader(f.names)
	}
	c.reader.Read(doc)
}

// Rest is Forget before a time in which nothing is computed: it lets go of values that were computed, too.
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
