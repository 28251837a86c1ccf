package candidate

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// checkTextPlanned returns the error for a text search without a plan.
func (e *enumerator) checkTextPlanned() error {
	for _, o := range e.cq.Whole.Ors {
		if filter.TextOf(o) != nil && filter.TextOf(o) == e.cq.Text.Node && !e.cq.Text.Refused {
			return query.CannotPlan("Failed to produce a solution for TEXT under OR - other non-TEXT clauses under OR have to be indexed as well.")
		}
	}
	return query.CannotPlan("failed to use text index to satisfy $text query (if text index is compound, are equality predicates given for all prefix fields?)")
}

// textAccess appends the access to a conjunction with a $text, which can only be the text index.
// done is false if the conjunction has no $text. own are the predicates of the innermost
// conjunction that contains the $text.
func (e *enumerator) textAccess(out []access, c, own *canonical.Conjunction) (_ []access, done bool) {
	if e.cq.Text == nil {
		return out, false
	}
	at := slices.Index(c.Conjuncts, filter.Node(e.cq.Text.Node))
	if at < 0 {
		for _, o := range c.Ors {
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
	prefix, settled, ok := e.cq.Text.Prefix(own, &e.cq)
	if !ok || !e.cq.Holds(e.cq.Text.Index, c) {
		e.cq.Text.Refused = true
		return out, true
	}
	a := access{score: 1 << 10}
	var onEntry []filter.Node
	for _, n := range c.Conjuncts {
		switch {
		case n == filter.Node(e.cq.Text.Node) || slices.Contains(settled, n):
		case e.cq.Text.Tells(n, c, &e.cq):
			onEntry = append(onEntry, n)
		default:
			a.residual = append(a.residual, n)
		}
	}
	a.node = searchTree(e.cq.Text, prefix, onEntry)
	return append(out, a), true
}

// searchTree returns the plan of a text search. prefix holds the values of the index fields before
// the text. onEntry are the predicates that are checked on the entries.
func searchTree(s *canonical.Search, prefix []bsonx.Elem, onEntry []filter.Node) node.Node {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for _, e := range prefix {
		b.ValueBytes(e.Key, e.Value)
	}
	b.End()
	or := &node.TextOr{Index: s.Index, Terms: s.Query.Bounds, Behind: len(s.Spec.After)}
	for _, term := range s.Query.Bounds {
		scan := node.NewScan(s.Index)
		scan.Backward, scan.Dedup, scan.Filter = true, false, canonical.AllOf(onEntry)
		for _, n := range onEntry {
			scan.Paths = appendPaths(scan.Paths, n)
		}
		size := 0
		for f, e := range prefix {
			scan.Bounds[f] = bounds.Intervals{bounds.Point(e.Value)}
			size += len(keystring.Append(nil, e.Value, s.Index.Fields[f].Desc))
		}
		key := bsonx.String(index.TermKey(term))
		scan.Bounds[len(prefix)] = bounds.Intervals{bounds.Point(key)}
		or.In = append(or.In, scan)
		or.ScoreAt = append(or.ScoreAt, size+len(keystring.Append(nil, key, false)))
	}
	return &node.TextMatch{In: searchUnion(s, or), Index: s.Index, Spec: s.Spec, Query: s.Query, Prefix: b.Bytes()}
}

// searchUnion returns n if the scores are needed. Otherwise it returns a cheaper union that does
// not add up scores.
func searchUnion(s *canonical.Search, n *node.TextOr) node.Node {
	switch {
	case len(n.In) == 0:
		return &node.Fetch{In: &node.EOF{Why: node.AlwaysFalse}}
	case s.Scored:
		return n
	case len(n.In) == 1:
		return &node.Fetch{In: n.In[0]}
	default:
		return &node.Fetch{In: &node.Or{In: n.In}}
	}
}
