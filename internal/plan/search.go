package plan

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/text"
)

// textSearch is the $text of a query with the index that answers it, which is the collection's only one of its kind.
type textSearch struct {
	node  *filter.Text
	query *text.Query
	spec  *text.Spec
	index *indexinfo.Index
	// scored is true where somebody wants the scores.
	scored bool
	// refused is set where the index lacks an equality, or does not have every document.
	refused bool
}

// readText finds the $text of a query, and binds it to the collection's text index.
func (cq *canonical) readText() error {
	n := cq.q.Filter.Text()
	if n == nil {
		if cq.sortsByScore() {
			return query.CheckMetaKind(cq.q.Filter, query.MetaTextScore)
		}
		return nil
	}
	ix := textIndex(cq.q.Coll)
	if ix == nil {
		return errNoTextIndex
	}
	if err := cq.checkText(); err != nil {
		return err
	}
	spec := ix.Generator().(*index.TextGen).Spec()
	bound, err := n.Bind(spec)
	if err != nil {
		return err
	}
	if ix.Hidden {
		return query.CannotPlan("need exactly one text index for $text bound")
	}
	cq.text = &textSearch{node: n, query: bound, spec: spec, scored: cq.wantsScores()}
	for _, x := range cq.indexes {
		if x.Stored == ix {
			cq.text.index = x
		}
	}
	return nil
}

var errNoTextIndex = mongoerr.New(mongoerr.IndexNotFound, "text index required for $text query")

func textIndex(c *table.Collection) *table.Index {
	for _, ix := range c.Indexes {
		if ix.Ready && ix.Kind() == index.Text {
			return ix
		}
	}
	return nil
}

// checkText refuses what MongoDB does not have beside $text.
func (cq *canonical) checkText() error {
	refuse := func(what string) error { return mongoerr.New(mongoerr.BadValue, "%s", what) }
	switch {
	case cq.natural != 0:
		return refuse("text expression not allowed with $natural sort order")
	case cq.hintsAnything():
		return refuse("text and hint not allowed in same query")
	case query.HasNear(cq.root):
		return refuse("text and geoNear not allowed in same query")
	case cq.q.Tailable:
		return refuse("text and tailable cursor not allowed in same query")
	}
	return nil
}

func (cq *canonical) hintsAnything() bool {
	h := cq.q.Hint
	return h.Type == bsonx.TypeString || h.Type == bsonx.TypeDocument && !h.Doc().IsEmpty()
}

func (cq *canonical) sortsByScore() bool {
	return slices.ContainsFunc(cq.sort, func(s sortField) bool { return s.path == index.ScorePath })
}

// wantsScores reports whether the scores of a search are sorted by, or shown.
func (cq *canonical) wantsScores() bool {
	p := cq.q.Projection
	return cq.sortsByScore() || cq.q.Scores || p != nil && slices.Contains(p.MetaKinds(), query.MetaTextScore)
}

// tells reports whether the entries tell if a document satisfies a conjunct, which is then about a field behind the text.
func (s *textSearch) tells(n filter.Node, c *conjunction, cq *canonical) bool {
	for _, p := range c.predicates {
		if p.node != n || p.conjunct != n || len(p.elems) > 0 {
			continue
		}
		for f, e := range s.spec.After {
			if string(e.Key) != p.path {
				continue
			}
			b := cq.boundsOn(p, s.index, len(s.spec.Before)+2+f)
			return b.ok && b.Tight != bounds.InexactFetch
		}
	}
	return false
}

// prefix returns the values of the fields before the text, which must be fixed by equalities; settled are those of which the
// index leaves nothing to check.
func (s *textSearch) prefix(c *conjunction, cq *canonical) (prefix []bsonx.Elem, settled []filter.Node, ok bool) {
	for f, e := range s.spec.Before {
		found := false
		for _, p := range c.predicates {
			eq, isCompare := p.node.(*filter.Compare)
			if p.path != string(e.Key) || !isCompare || eq.Op != filter.Eq || p.expression || len(p.elems) > 0 {
				continue
			}
			b := cq.boundsOn(p, s.index, f)
			if !b.ok {
				continue
			}
			found = true
			prefix = append(prefix, bsonx.Elem{Key: e.Key, Value: eq.Value})
			if b.Tight == bounds.Exact {
				settled = append(settled, p.conjunct)
			}
			break
		}
		if !found {
			return nil, nil, false
		}
	}
	return prefix, settled, true
}
