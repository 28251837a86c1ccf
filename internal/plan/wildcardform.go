package plan

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/index"
)

// wildcard is what a wildcard index has beside an ordinary one. A query uses it in a form: as the index on the path of one of
// its predicates that it is among other things, or, if it is compound, as one on the fields before the wildcard.
type wildcard struct {
	paths  index.WildcardPaths
	arrays *index.PathSet // at the moment of planning
	// at is the position of the field that holds the path; the next one holds the value.
	at int
	// form is true for a form, generic for that of the fields before the wildcard.
	form, generic bool
}

func wildcardOf(x *indexInfo) *wildcard {
	return &wildcard{
		paths: index.NewWildcardPaths(x.ix.Key, x.ix.Spec), arrays: x.ix.ArrayPaths(),
		at: slices.IndexFunc(x.fields, func(f index.Field) bool { return f.Kind == index.Wildcard }),
	}
}

// formFor returns the form of a wildcard index for a path; that of the fields before the wildcard for PathField.
func (x *indexInfo) formFor(path string) *indexInfo {
	f, w := *x, *x.wild
	w.form, w.generic = true, path == index.PathField
	f.wild = &w
	f.fields = slices.Clone(x.fields)
	value := &f.fields[w.at+1]
	value.Path = path
	if !w.generic {
		value.Kind = index.Ordered
		f.multi = make(index.MultikeyPaths, len(x.fields))
		f.multi[w.at+1] = w.arrays.Components(path)
	}
	f.array = f.multi.IsMultikey()
	f.ix = x.ix.WithPattern(f.fields)
	key := bsonx.NewBuilder(nil)
	key.StartDoc()
	for it := x.key.Iter(); it.Next(); {
		if index.FieldKind(string(it.Key()), it.Value()) == index.Wildcard {
			key.Int32(index.PathField, 1)
			key.Value(path, it.Value())
			continue
		}
		key.ValueBytes(it.Key(), it.Value())
	}
	key.End()
	f.key = key.Bytes()
	return &f
}

// isWildcard reports whether x is a wildcard index in no form: nothing can be said of its fields.
func (x *indexInfo) isWildcard() bool { return x.wild != nil && !x.wild.form }

// lead is the first field that a predicate has to bound.
func (x *indexInfo) lead() int {
	if x.wild != nil && x.wild.at == 0 {
		return 1
	}
	return 0
}
