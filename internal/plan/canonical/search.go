package canonical

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

// Search is the $text of a query, with the collection's text index. A collection has at most one.
type Search struct {
	Node  *filter.Text
	Query *text.Query
	Spec  *text.Spec
	Index *indexinfo.Index
	// Scored is true if the query needs the scores.
	Scored bool
	// Refused is true if the index cannot answer the query, because an equality on its prefix is
	// missing or it does not contain every document.
	Refused bool
}

// readText finds the $text of a query and the collection's text index.
func (cq *Query) readText() error {
	n := cq.Asked.Filter.Text()
	if n == nil {
		if cq.sortsByScore() {
			return query.CheckMetaKind(cq.Asked.Filter, query.MetaTextScore)
		}
		return nil
	}
	ix := textIndex(cq.Asked.Coll)
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
		return query.CannotPlan("need exactly one text index for $text query")
	}
	cq.Text = &Search{Node: n, Query: bound, Spec: spec, Scored: cq.wantsScores()}
	for _, x := range cq.Indexes {
		if x.Stored == ix {
			cq.Text.Index = x
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

// checkText fails for parts of a query that MongoDB does not allow together with $text.
func (cq *Query) checkText() error {
	refuse := func(what string) error { return mongoerr.New(mongoerr.BadValue, "%s", what) }
	switch {
	case cq.Natural != 0:
		return refuse("text expression not allowed with $natural sort order")
	case cq.hintsAnything():
		return refuse("text and hint not allowed in same query")
	case query.HasNear(cq.Root):
		return refuse("text and geoNear not allowed in same query")
	case cq.Asked.Tailable:
		return refuse("text and tailable cursor not allowed in same query")
	}
	return nil
}

func (cq *Query) hintsAnything() bool {
	h := cq.Asked.Hint
	return h.Type == bsonx.TypeString || h.Type == bsonx.TypeDocument && !h.Doc().IsEmpty()
}

func (cq *Query) sortsByScore() bool {
	return slices.ContainsFunc(cq.Sort, func(s SortField) bool { return s.Path == index.ScorePath })
}

// wantsScores reports whether the query sorts by the scores or returns them.
func (cq *Query) wantsScores() bool {
	p := cq.Asked.Projection
	return cq.sortsByScore() || cq.Asked.Scores || p != nil && slices.Contains(p.MetaKinds(), query.MetaTextScore)
}

// Tells reports whether the index entries tell if a document satisfies a conjunct, which must be on
// a field after the text.
func (s *Search) Tells(n filter.Node, c *Conjunction, cq *Query) bool {
	for _, p := range c.Predicates {
		if p.Node != n || p.Conjunct != n || len(p.Elems) > 0 {
			continue
		}
		for f, e := range s.Spec.After {
			if string(e.Key) != p.Path {
				continue
			}
			b := cq.BoundsOn(p, s.Index, len(s.Spec.Before)+2+f)
			return b.Ok && b.Tight != bounds.InexactFetch
		}
	}
	return false
}

// Prefix returns the values of the index fields before the text, which equalities must fix. settled
// are the equalities that the index checks completely. ok is false if an equality is missing.
func (s *Search) Prefix(c *Conjunction, cq *Query) (prefix []bsonx.Elem, settled []filter.Node, ok bool) {
	for f, e := range s.Spec.Before {
		found := false
		for _, p := range c.Predicates {
			eq, isCompare := p.Node.(*filter.Compare)
			if p.Path != string(e.Key) || !isCompare || eq.Op != filter.Eq || p.Expression || len(p.Elems) > 0 {
				continue
			}
			b := cq.BoundsOn(p, s.Index, f)
			if !b.Ok {
				continue
			}
			found = true
			prefix = append(prefix, bsonx.Elem{Key: e.Key, Value: eq.Value})
			if b.Tight == bounds.Exact {
				settled = append(settled, p.Conjunct)
			}
			break
		}
		if !found {
			return nil, nil, false
		}
	}
	return prefix, settled, true
}
