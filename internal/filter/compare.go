package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

var comparisonFailure = &failure{no: reasonComparison, yes: "comparison succeeded"}

// CompareOp is the operator of a Compare.
type CompareOp uint8

// Values of CompareOp. $ne is a Not of Eq.
const (
	Eq CompareOp = iota
	Lt
	Lte
	Gt
	Gte
)

var compareOps = [...]struct {
	name string
	kind Kind
}{Eq: {"$eq", KindEq}, Lt: {"$lt", KindLt}, Lte: {"$lte", KindLte}, Gt: {"$gt", KindGt}, Gte: {"$gte", KindGte}}

// String returns the operator's name.
func (op CompareOp) String() string { return compareOps[op].name }

// Compare is $eq, $lt, $lte, $gt or $gte. It compares only values of the operand's type class;
// MinKey and MaxKey compare with every class. null equals a missing value, but not undefined. NaN
// equals NaN and is in no range.
type Compare struct {
	leaf
	Op CompareOp
	// Value is the operand.
	Value bsonx.Value
	// Collation compares strings; nil means binary comparison.
	Collation *collation.Collator

	class int
	nan   bool
}

// NewCompare returns a Compare of the values at path with v.
func NewCompare(path string, op CompareOp, v bsonx.Value, c *collation.Collator) *Compare {
	return new(comparison).init(path, op, v, c)
}

// comparison is a Compare together with its path, in one allocation.
type comparison struct {
	node Compare
	path Path
}

func (n *comparison) init(path string, op CompareOp, v bsonx.Value, c *collation.Collator) *Compare {
	n.path.init(path)
	n.node = Compare{leaf: leaf{path, &n.path}, Op: op, Value: v, Collation: c, class: v.Type.Class(), nan: isNaN(v)}
	return &n.node
}

// Kind returns the kind of the operator.
func (n *Compare) Kind() Kind { return compareOps[n.Op].kind }

func (n *Compare) matchDoc(doc bsonx.Doc, st *state) bool { return n.path.match(doc, Elements, n, st) }

func (n *Compare) matchElem(v bsonx.Value, st *state) bool {
	if v.Type.Class() != n.class {
		switch n.class {
		case bsonx.ClassMaxKey:
			return n.Op == Lt || n.Op == Lte
		case bsonx.ClassMinKey:
			return n.Op == Gt || n.Op == Gte
		default:
			return false
		}
	}
	if n.class == bsonx.ClassNumber && (n.nan || isNaN(v)) {
		return n.nan && n.Op != Lt && n.Op != Gt && isNaN(v)
	}
	var c int
	if n.Collation == nil {
		c = bsonx.CompareValues(v, n.Value)
	} else {
		c = n.Collation.CompareValues(v, n.Value)
		st.ended(n.Collation.Ended(v, n.Value))
	}
	switch n.Op {
	case Eq:
		return c == 0
	case Lt:
		return c < 0
	case Lte:
		return c <= 0
	case Gt:
		return c > 0
	default:
		return c >= 0
	}
}

func (n *Compare) serialize(b *serializer) { serializeLeaf(b, n) }

func (n *Compare) serializeOperator(b *serializer) { b.Value(n.Op.String(), n.Value) }

func isNaN(v bsonx.Value) bool {
	switch v.Type {
	case bsonx.TypeDouble:
		f := v.Double()
		return f != f
	case bsonx.TypeDecimal128:
		hi, _ := v.Decimal128()
		return hi>>58&0x1f == 0x1f
	default:
		return false
	}
}

func parseCompare(op CompareOp) fieldParser {
	return func(p *parser, f field) (Node, error) {
		return p.compare(f.path, op, f.value)
	}
}

func (p *parser) compare(path string, op CompareOp, v bsonx.Value) (Node, error) {
	if op != Eq && v.Type == bsonx.TypeRegex {
		return nil, mongoerr.New(mongoerr.BadValue, "Can't have RegEx as arg to non-equality predicate over field '%s'.", path)
	}
	if v.Type == bsonx.TypeUndefined {
		return nil, mongoerr.New(mongoerr.BadValue, "cannot compare to undefined")
	}
	return NewCompare(path, op, v, p.opts.Collation), nil
}

func parseNe(p *parser, f field) (Node, error) {
	if f.value.Type == bsonx.TypeRegex {
		return nil, mongoerr.New(mongoerr.BadValue, "Can't have regex as arg to $ne.")
	}
	n, err := p.compare(f.path, Eq, f.value)
	if err != nil {
		return nil, err
	}
	return &Not{Child: n}, nil
}
