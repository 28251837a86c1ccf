package expr

import (
	"math/rand/v2"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Expr is a compiled expression. It is immutable and safe for concurrent use.
type Expr interface {
	// Eval evaluates the expression for the document in ctx. The result may borrow the document's
	// bytes.
	Eval(ctx *Context) (bsonx.Value, error)
	// Children returns the direct sub-expressions, for constant folding and dependency analysis.
	Children() []Expr
}

// Context is the state of an evaluation. It belongs to one goroutine and is reused for many
// documents; the caller sets Root for each. The zero Context is usable. A Context in use must not
// be copied.
type Context struct {
	// Root is the document: the value of $$ROOT, and of $$CURRENT unless it is rebound.
	Root bsonx.Value
	// Now is the value of $$NOW, which is the same for all documents of a command.
	Now time.Time
	// Vals contains the values of variables by slot, for variables that are bound during
	// evaluation.
	Vals []bsonx.Value
	// Meta is the metadata that $meta reads; nil means that there is no metadata.
	Meta *Meta
	// Running signals interrupts of the operation to Built. If it is nil, nothing is ever
	// interrupted.
	Running *interrupt.Running
	// Random returns numbers in [0, 1) for $rand; nil means the process's generator.
	Random func() float64

	Arena  bsonx.Arena // memory for results of expressions
	loaded *Fields     // the Fields that reader reads
	reader *bsonx.FieldReader
	stack  []bsonx.Value
	work   int // work since the last check for an interrupt
	built  int // bytes of the document that is being built
	// Kept is the number of bytes that operators keep while they evaluate another operand.
	Kept  int
	Zones map[string]*time.Location // cache of time zones by name
	task  Task                      // reused by Converting
}

// Meta contains the metadata of a document that $meta can read. Absent metadata is bsonx.Missing.
type Meta struct {
	// Searched is true for the results of a text search. A result that was not found by its words
	// has no score.
	Searched    bool
	RecordID    bsonx.Value
	SortKey     bsonx.Value
	IndexKey    bsonx.Value
	TextScore   bsonx.Value
	GeoDistance bsonx.Value
	GeoPoint    bsonx.Value
	RandVal     bsonx.Value
	SearchScore bsonx.Value
	SearchHighs bsonx.Value
	VectorScore bsonx.Value
}

// SortMeta returns the metadata by which documents can be sorted, with null for absent values. m
// may be nil.
func (m *Meta) SortMeta() index.SortMeta {
	out := index.SortMeta{Score: bsonx.Null, Distance: bsonx.Null, Random: bsonx.Null}
	if m != nil && !m.TextScore.IsMissing() {
		out.Score = m.TextScore
	}
	if m != nil && !m.GeoDistance.IsMissing() {
		out.Distance = m.GeoDistance
	}
	if m != nil && !m.RandVal.IsMissing() {
		out.Random = m.RandVal
	}
	return out
}

// Rewind allows the arena to reuse the memory of all results so far. The caller must have copied
// the values that it keeps, and must not read slots bound to such values. Without Rewind a result
// stays valid as long as it is referenced.
func (c *Context) Rewind() { c.Arena.Rewind() }

// Bind sets the value of the variable in a slot.
func (c *Context) Bind(slot int, v bsonx.Value) {
	for len(c.Vals) <= slot {
		c.Vals = append(c.Vals, bsonx.Missing)
	}
	c.Vals[slot] = v
}

func (c *Context) slot(i int) bsonx.Value {
	if i < len(c.Vals) {
		return c.Vals[i]
	}
	return bsonx.Missing
}

func (c *Context) random() float64 {
	if c.Random != nil {
		return c.Random()
	}
	return rand.Float64()
}

// Const is an expression with a constant value.
type Const struct{ Value bsonx.Value }

// Eval returns the constant.
func (c *Const) Eval(*Context) (bsonx.Value, error) { return c.Value, nil }

// Children returns nil.
func (c *Const) Children() []Expr { return nil }

// Total returns true: the node has a value for all values of its operands.
func (c *Const) Total() bool { return true }

// ConstValue returns the value of e if e is a constant.
func ConstValue(e Expr) (bsonx.Value, bool) {
	if c, ok := e.(*Const); ok {
		return c.Value, true
	}
	return bsonx.Missing, false
}

// Walk calls f for e. If f returns true, Walk continues with the sub-expressions of e.
func Walk(e Expr, f func(Expr) bool) {
	if !f(e) {
		return
	}
	for _, child := range e.Children() {
		Walk(child, f)
	}
}

// Dependencies lists the parts of a document that expressions read.
type Dependencies struct {
	// Paths contains the dotted field paths from the root, in the order of their appearance, with
	// possible duplicates.
	Paths []string
	// WholeDocument reports whether an expression reads the whole document ($$ROOT, $$CURRENT).
	WholeDocument bool
	// Meta reports whether an expression reads metadata.
	Meta bool
	// Most is the largest useful number of paths; with more paths, Depend sets WholeDocument
	// instead. 0 means no limit.
	Most int
}

// Depend adds the dependencies of e to d.
func (d *Dependencies) Depend(e Expr) {
	Walk(e, func(e Expr) bool {
		if d.Most > 0 && len(d.Paths) > d.Most {
			d.WholeDocument = true
			return false
		}
		switch e := e.(type) {
		case *Path:
			if e.slot != rootSlot {
				return false
			}
			if len(e.parts) == 0 {
				d.WholeDocument = true
			} else {
				d.Paths = append(d.Paths, e.dotted)
			}
		case *metaExpr:
			d.Meta = true
		case Func:
			d.WholeDocument = true
		}
		return true
	})
}

// Nullish reports whether MongoDB's operators treat v as null: it is missing, null or undefined.
func Nullish(v bsonx.Value) bool { return v.IsNull() || v.Type == bsonx.TypeUndefined }
