package index

import (
	"maps"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// pathFilter says which paths a wildcard field indexes: the listed paths, or all except the listed
// paths. It is a tree of the listed paths. A nil filter selects all paths. It is immutable.
type pathFilter struct {
	include bool
	listed  bool // the path that leads here is listed
	fields  map[string]*pathFilter
}

// wildcardPaths returns the paths of a wildcard field: "path.$**", or "$**" with an optional
// wildcardProjection. The _id is excluded unless the projection includes it.
func wildcardPaths(field string, options bsonx.Doc) *pathFilter {
	if root, ok := strings.CutSuffix(field, ".$**"); ok {
		f := &pathFilter{include: true}
		f.list(root)
		return f
	}
	f := &pathFilter{}
	id, others := bsonx.Missing, 0
	spec := options.Lookup("wildcardProjection")
	if spec.Type == bsonx.TypeDocument {
		listed := leaves(nil, spec.Doc(), "")
		for _, leaf := range listed {
			if leaf.path == "_id" {
				id = leaf.value
				continue
			}
			others++
			f.include = leaf.value.Truthy()
		}
		f.include = f.include || others == 0 && id.Truthy()
		for _, leaf := range listed {
			if leaf.path != "_id" {
				f.list(leaf.path)
			}
		}
	}
	if f.include == id.Truthy() {
		f.list("_id")
	}
	return f
}

// leaf is a path of a wildcardProjection and its value.
type leaf struct {
	path  string
	value bsonx.Value
}

// leaves appends the leaves of a wildcardProjection, which may be nested.
func leaves(dst []leaf, spec bsonx.Doc, prefix string) []leaf {
	for it := spec.Iter(); it.Next(); {
		path := prefix + string(it.Key())
		if v := it.Value(); v.Type == bsonx.TypeDocument {
			dst = leaves(dst, v.Doc(), path+".")
		} else {
			dst = append(dst, leaf{path, v})
		}
	}
	return dst
}

// equal reports whether two filters select the same paths.
func (f *pathFilter) equal(other *pathFilter) bool {
	if f == nil || other == nil {
		return f == other
	}
	return f.include == other.include && f.listed == other.listed &&
		maps.EqualFunc(f.fields, other.fields, (*pathFilter).equal)
}

// list adds a path to a tree that is being made.
func (f *pathFilter) list(path string) {
	at := f
	for part := range strings.SplitSeq(path, ".") {
		next := at.fields[part]
		if next == nil {
			next = &pathFilter{include: f.include}
			if at.fields == nil {
				at.fields = map[string]*pathFilter{}
			}
			at.fields[part] = next
		}
		at = next
	}
	at.listed = true
}

// below returns the filter for a field, and false if nothing of the field is indexed.
func (f *pathFilter) below(name []byte) (*pathFilter, bool) {
	if f == nil {
		return nil, true
	}
	switch next := f.fields[string(name)]; {
	case next == nil:
		return nil, !f.include
	case next.listed:
		return nil, f.include
	default:
		return next, true
	}
}

// isInclusion reports whether only some paths below this path are indexed. Then a value at the path
// itself is not indexed.
func (f *pathFilter) isInclusion() bool { return f != nil && f.include }

// has reports whether all values at a path are indexed, except values that have no key.
func (f *pathFilter) has(path string) bool {
	for part := range strings.SplitSeq(path, ".") {
		var ok bool
		if f, ok = f.below([]byte(part)); !ok {
			return false
		}
	}
	return !f.isInclusion()
}

// WildcardPaths says which paths the wildcard field of an index covers.
type WildcardPaths struct{ filter *pathFilter }

// NewWildcardPaths returns the paths of the wildcard field in a key pattern. options is the
// specification as in listIndexes.
func NewWildcardPaths(key, options bsonx.Doc) WildcardPaths {
	for it := key.Iter(); it.Next(); {
		if name := string(it.Key()); FieldKind(name, it.Value()) == Wildcard {
			return WildcardPaths{wildcardPaths(name, options)}
		}
	}
	return WildcardPaths{&pathFilter{include: true}}
}

// Equal reports whether two indexes cover the same paths.
func (p WildcardPaths) Equal(other WildcardPaths) bool { return p.filter.equal(other.filter) }

// Has reports whether an index holds the values at a path.
func (p WildcardPaths) Has(path string) bool { return p.filter.has(path) }
