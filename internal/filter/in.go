package filter

import (
	"iter"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

var inFailure = &failure{no: "no matching value found in array", yes: "matching value found in array"}

// In is $in: it matches if a value equals one of Values or matches one of Regexes. $nin is a Not of
// In.
type In struct {
	leaf
	// Values is sorted and has no duplicates.
	Values []bsonx.Value
	// Regexes contains regular expressions with the same path as the node.
	Regexes []*Regex
	// Collation compares strings; nil means binary comparison.
	Collation *collation.Collator

	hasNull bool
	largest int       // the size of the largest value in bytes
	written bsonx.Doc // the original array; nil if the node was made from joined
	// joined contains the equalities and regular expressions that were joined to this node, in
	// their original order.
	joined []Node
}

// Written yields the values in the order of the query, for messages. It includes duplicates, but
// not regular expressions.
func (n *In) Written() iter.Seq[bsonx.Value] {
	return func(yield func(bsonx.Value) bool) {
		for it := n.written.Iter(); it.Next(); {
			if v := it.Value(); v.Type != bsonx.TypeRegex && !yield(v) {
				return
			}
		}
		for _, member := range n.joined {
			if eq, ok := member.(*Compare); ok && !yield(eq.Value) {
				return
			}
		}
	}
}

// newIn returns an In. It sorts values in place. It fails if the operation was interrupted.
func newIn(path string, values []bsonx.Value, regexes []*Regex, c *collation.Collator, m *interrupt.Meter,
	r *interrupt.Running,
) (*In, error) {
	n := &In{leaf: newLeaf(path), Regexes: regexes, Collation: c}
	if err := c.Sort(values, m, r); err != nil {
		return nil, err
	}
	var err error
	if n.Values, err = c.Compact(values, m, r); err != nil {
		return nil, err
	}
	for _, v := range n.Values {
		n.largest = max(n.largest, len(v.Data))
	}
	n.hasNull = slices.ContainsFunc(n.Values, func(v bsonx.Value) bool { return v.Type == bsonx.TypeNull })
	return n, nil
}

func (n *In) compare(a, b bsonx.Value) int {
	if n.Collation != nil {
		return n.Collation.CompareValues(a, b)
	}
	return bsonx.CompareValues(a, b)
}

// Kind returns KindIn.
func (*In) Kind() Kind { return KindIn }

func (n *In) matchDoc(doc bsonx.Doc, st *state) bool { return n.path.match(doc, Elements, n, st) }

func (n *In) matchElem(v bsonx.Value, st *state) bool {
	found := n.has(v)
	st.ended(n.Collation.EndedIn(n.largest + len(v.Data)))
	if found {
		return true
	}
	for _, re := range n.Regexes {
		if st.stopped(interrupt.Step) {
			return false
		}
		if re.matchElem(v, st) {
			return true
		}
	}
	return false
}

func (n *In) has(v bsonx.Value) bool {
	if v.IsNull() {
		return n.hasNull
	}
	low, high := 0, len(n.Values)
	for low < high {
		mid := int(uint(low+high) >> 1)
		switch c := n.compare(n.Values[mid], v); {
		case c == 0:
			return true
		case c < 0:
			low = mid + 1
		default:
			high = mid
		}
	}
	return false
}

func (n *In) serialize(b *serializer) { serializeLeaf(b, n) }

func (n *In) serializeOperator(b *serializer) {
	b.StartArrayField("$in")
	for _, v := range n.Values {
		if b.stopped(interrupt.Step + len(v.Data)) {
			break
		}
		b.Elem(v)
	}
	for _, re := range n.Regexes {
		if b.stopped(interrupt.Step) {
			break
		}
		b.Elem(bsonx.Regex(re.Pattern, re.Options))
	}
	b.End()
}

func parseIn(p *parser, f field) (Node, error) {
	if f.value.Type != bsonx.TypeArray {
		return nil, mongoerr.New(mongoerr.BadValue, "%s needs an array", f.name)
	}
	var values []bsonx.Value
	var regexes []*Regex
	for it := f.value.Doc().Iter(); it.Next(); {
		v := it.Value()
		if err := p.meter.Did(interrupt.Step, p.running); err != nil {
			return nil, err
		}
		if err := p.hold(memberBytes); err != nil {
			return nil, err
		}
		switch {
		case isOperatorDoc(v, false):
			return nil, mongoerr.New(mongoerr.BadValue, "cannot nest $ under $in")
		case v.Type == bsonx.TypeUndefined:
			return nil, mongoerr.New(mongoerr.BadValue, "Cannot insert undefined into InListData")
		case v.Type == bsonx.TypeRegex:
			re, err := p.regexValue(f.path, v)
			if err != nil {
				return nil, err
			}
			regexes = append(regexes, re.(*Regex))
		default:
			values = append(values, v)
		}
	}
	n, err := newIn(f.path, values, regexes, p.opts.Collation, &p.meter, p.running)
	if err != nil {
		return nil, err
	}
	n.written = f.value.Doc()
	return n, nil
}

func parseNin(p *parser, f field) (Node, error) {
	n, err := parseIn(p, f)
	if err != nil {
		return nil, err
	}
	return &Not{Child: n}, nil
}
