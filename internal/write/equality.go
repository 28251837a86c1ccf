package write

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
)

// equalities calls fn for each predicate path = value that every match of n satisfies.
func equalities(n filter.Node, fn func(path string, v bsonx.Value)) {
	if n, ok := n.(*filter.And); ok {
		for _, child := range n.Children {
			equalities(child, fn)
		}
	}
	if n, ok := n.(*filter.Compare); ok && n.Op == filter.Eq {
		fn(n.Path, n.Value)
	}
}

// byID returns the _id of a query that names exactly one record and needs no plan. ok is false for
// other queries.
func (q Query) byID() (id bsonx.Value, ok bool) {
	if !q.Hint.IsMissing() || !q.Filter.Collation().Same(q.Coll.Collation) || q.Coll.IDIndex != nil {
		return id, false
	}
	if _, alone := q.Filter.Root.(*filter.Compare); !alone && q.Sort.Len() > 1 {
		return id, false // as in MongoDB the sort must refuse parallel arrays, even in one document
	}
	equalities(q.Filter.Root, func(path string, v bsonx.Value) {
		if path == "_id" && v.Type != bsonx.TypeArray && !v.IsNull() {
			id, ok = v, true
		}
	})
	return id, ok
}

// lostRace reports whether an upsert failed because another upsert has just inserted a document
// that the query matches. That is so if all duplicate values in info are values that the query
// demands.
func (st *UpdateStatement) lostRace(info bsonx.Doc) bool {
	want := map[string]bsonx.Value{}
	equalities(st.Filter.Root, func(path string, v bsonx.Value) { want[path] = v })
	for it := info.Lookup("keyValue").Doc().Iter(); it.Next(); {
		v, ok := want[string(it.Key())]
		if !ok {
			return false
		}
		shown, err := st.Filter.Collation().Displayed(v, nil)
		if err != nil || bsonx.CompareValues(shown, it.Value()) != 0 {
			return false
		}
	}
	return true
}
