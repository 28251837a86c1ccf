package indexinfo

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/index"
)

// Wildcard holds the additional properties of a wildcard index. A query uses the index in a form.
// The form for a path treats it as an index on the path of one predicate. The generic form of a
// compound index treats it as an index on the fields before the wildcard.
type Wildcard struct {
	Paths  index.WildcardPaths
	Arrays *index.PathSet // paths of arrays at the time of planning
	// At is the position of the field that holds the path. The next field holds the value.
	At int
	// form is true if the Index is a form: for one path, or generic. Generic is true for the
	// generic form.
	form, Generic bool
}

func wildcardOf(x *Index) *Wildcard {
	return &Wildcard{
		Paths: index.NewWildcardPaths(x.Stored.Key, x.Stored.Spec), Arrays: x.Stored.ArrayPaths(),
		At: slices.IndexFunc(x.Fields, func(f index.Field) bool { return f.Kind == index.Wildcard }),
	}
}

// FormFor returns the form of a wildcard index for a path, or the generic form if path is
// index.PathField.
func (x *Index) FormFor(path string) *Index {
	f, w := *x, *x.Wild
	w.form, w.Generic = true, path == index.PathField
	f.Wild = &w
	f.Fields = slices.Clone(x.Fields)
	value := &f.Fields[w.At+1]
	value.Path = path
	if !w.Generic {
		value.Kind = index.Ordered
		f.multi = make(index.MultikeyPaths, len(x.Fields))
		f.multi[w.At+1] = w.Arrays.Components(path)
	}
	f.array = f.multi.IsMultikey()
	f.Stored = x.Stored.WithPattern(f.Fields)
	key := bsonx.NewBuilder(nil)
	key.StartDoc()
	for it := x.Key.Iter(); it.Next(); {
		if index.FieldKind(string(it.Key()), it.Value()) == index.Wildcard {
			key.Int32(index.PathField, 1)
			key.Value(path, it.Value())
			continue
		}
		key.ValueBytes(it.Key(), it.Value())
	}
	key.End()
	f.Key = key.Bytes()
	return &f
}

// IsWildcard reports whether x is a wildcard index that is not a form. Then its fields cannot be
// used for bounds.
func (x *Index) IsWildcard() bool { return x.Wild != nil && !x.Wild.form }

// Lead returns the position of the first field that a predicate has to bound.
func (x *Index) Lead() int {
	if x.Wild != nil && x.Wild.At == 0 {
		return 1
	}
	return 0
}
