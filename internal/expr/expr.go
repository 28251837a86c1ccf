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
	// Eval computes the expression for the document in ctx. The result may borrow the document's
	// bytes.
	Eval(ctx *Context) (bsonx.Value, error)
	// Children returns the direct sub-expressions, for folding and dependency analysis.
	Children() []Expr
}

// Context is the state in which an expression is evaluated. It is reused for many documents (set
// Root for each) and belongs to one goroutine. The zero Context is usable; a Context in use must
// not be copied.
type Context struct {
	// Root is the document: $$ROOT, and $$CURRENT where it is not rebound.
	Root bsonx.Value
	// Now is the time of the command, the same for all its documents.
	Now time.Time
	// Vals are the slots of variables that are bound while evaluating.
	Vals []bsonx.Value
	// Meta is what $meta reads; nil means that no metadata is known.
	Meta *Meta
	// Running is the operation that Built looks at; nil never ends.
	Running *interrupt.Running
	// Random returns numbers in [0, 1) for $rand; nil means the process's generator.
	Random func() float64

	Arena  bsonx.Arena // of values that expressions make
	loaded *Fields     // what reader reads
	reader *bsonx.FieldReader
	stack  []bsonx.Value
	work   int                       // since the operation was last looked at
	built  int                       // bytes of the document that is being built
	Kept   int                       // bytes of what operators keep while they evaluate an operand
	Zones  map[string]*time.Location // time zones that were looked up
	task   Task                      // of a conversion
}

// Meta is the metadata of a document that $meta can read. Absent metadata is a missing value.
type Meta struct {
	// Searched is true for the documents of a text search: one that was found by other means than
	// its words has no score.
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

// SortMeta returns what documents are sorted by among metadata that may be nil, null where there is
// none.
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

// Rewind lets the memory of the values that were computed so far be used again: the caller has
// copied what it keeps, and has bound none of them to a slot that is read later. Without it a value
// stays valid as long as it is referred to.
func (c *Context) Rewind() { c.Arena.Rewind() }

// Bind sets the value of a slot.
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

// Const is an expression with a fixed value.
type Const struct{ Value bsonx.Value }

// Eval returns the value.
func (c *Const) Eval(*Context) (bsonx.Value, error) { return c.Value, nil }

// Children returns nothing.
func (c *Const) Children() []Expr { return nil }

// Total returns true.
func (c *Const) Total() bool { return true }

// ConstValue returns the value of an expression that is constant.
func ConstValue(e Expr) (bsonx.Value, bool) {
	if c, ok := e.(*Const); ok {
		return c.Value, true
	}
	return bsonx.Missing, false
}

// Walk calls f for e and, where f returns true, for the expressions below it.
func Walk(e Expr, f func(Expr) bool) {
	if !f(e) {
		return
	}
	for _, child := range e.Children() {
		Walk(child, f)
	}
}

// Dependencies are the parts of a document that an expression reads.
type Dependencies struct {
	// Paths are dotted field paths from the root, in the order of their appearance, perhaps
	// repeated.
	Paths []string
	// WholeDocument reports that the expression needs the document itself ($$ROOT, $$CURRENT).
	WholeDocument bool
	// Meta reports that the expression reads metadata.
	Meta bool
	// Most is how many paths are worth noting: of an expression with more all of the document
	// counts as read. 0 notes all.
	Most int
}

// Depend adds what e reads to d.
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

// Nullish reports whether MongoDB's operators treat v as null: missing, null and undefined.
func Nullish(v bsonx.Value) bool { return v.IsNull() || v.Type == bsonx.TypeUndefined }
