package plan

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// checkTextPlanned explains why there is no plan for a search.
func (e *enumerator) checkTextPlanned() error {
	for _, o := range e.cq.whole.ors {
		if filter.TextOf(o) != nil && filter.TextOf(o) == e.cq.text.node && !e.cq.text.refused {
			return query.CannotPlan("Failed to produce a solution for TEXT under OR - other non-TEXT clauses under OR have to be indexed as well.")
		}
	}
	return query.CannotPlan("failed to use text index to satisfy $text query (if text index is compound, are equality predicates given for all prefix fields?)")
}

// textAccess appends the only way to a conjunction with a $text, by the text index; done is false where there is no $text in it.
// own are the predicates of the conjunction that $text stands in itself.
func (e *enumerator) textAccess(out []access, c, own *conjunction) (_ []access, done bool) {
	if e.cq.text == nil {
		return out, false
	}
	at := slices.Index(c.conjuncts, filter.Node(e.cq.text.node))
	if at < 0 {
		for _, o := range c.ors {
			if filter.TextOf(o) == nil {
				continue
			}
			if a, ok := e.orAccess(o, c); ok {
				out = append(out, a)
			}
			return out, true
		}
		return out, false
	}
	prefix, settled, ok := e.cq.text.prefix(own, &e.cq)
	if !ok || !e.cq.holds(e.cq.text.index, c) {
		e.cq.text.refused = true
		return out, true
	}
	a := access{score: 1 << 10}
	var onEntry []filter.Node
	for _, n := range c.conjuncts {
		switch {
		case n == filter.Node(e.cq.text.node) || slices.Contains(settled, n):
		case e.cq.text.tells(n, c, &e.cq):
			onEntry = append(onEntry, n)
		default:
			a.residual = append(a.residual, n)
		}
	}
	a.node = searchTree(e.cq.text, prefix, onEntry)
	return append(out, a), true
}

// searchTree makes the plan of a search with the given fields before the text, and predicates that entries answer.
func searchTree(s *textSearch, prefix []bsonx.Elem, onEntry []filter.Node) node {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for _, e := range prefix {
		b.ValueBytes(e.Key, e.Value)
	}
	b.End()
	or := &textOr{index: s.index, terms: s.query.Bounds, behind: len(s.spec.After)}
	for _, term := range s.query.Bounds {
		scan := newScan(s.index)
		scan.backward, scan.dedup, scan.filter = true, false, allOf(onEntry)
		for _, n := range onEntry {
			scan.paths = appendPaths(scan.paths, n)
		}
		size := 0
		for f, e := range prefix {
			scan.bounds[f] = bounds.Intervals{bounds.Point(e.Value)}
			size += len(keystring.Append(nil, e.Value, s.index.Fields[f].Desc))
		}
		key := bsonx.String(index.TermKey(term))
		scan.bounds[len(prefix)] = bounds.Intervals{bounds.Point(key)}
		or.in = append(or.in, scan)
		or.scoreAt = append(or.scoreAt, size+len(keystring.Append(nil, key, false)))
	}
	return &textMatch{in: searchUnion(s, or), index: s.index, spec: s.spec, query: s.query, prefix: b.Bytes()}
}

// searchUnion is the union itself where the scores are wanted, else one that does not add them up.
func searchUnion(s *textSearch, n *textOr) node {
	switch {
	case len(n.in) == 0:
		return &fetch{in: &eof{eofAlwaysFalse}}
	case s.scored:
		return n
	case len(n.in) == 1:
		return &fetch{in: n.in[0]}
	default:
		return &fetch{in: &or{in: n.in}}
	}
}
