package index

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// pathFilter tells which paths a wildcard field indexes: those that are listed, or all but those. It is a tree of the listed
// paths; nil is everything. It is immutable.
type pathFilter struct {
	include bool
	listed  bool // the path that leads here is listed
	fields  map[string]*pathFilter
}

// wildcardPaths returns the paths of a wildcard field, "path.$**" or "$**" with a wildcardProjection, which may be missing.
// The _id is left out unless it is asked for.
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
		for it := spec.Doc().Iter(); it.Next(); {
			if string(it.Key()) == "_id" {
				id = it.Value()
				continue
			}
			others++
			f.include = it.Value().Truthy()
		}
		f.include = f.include || others == 0 && id.Truthy()
		for it := spec.Doc().Iter(); it.Next(); {
			if name := string(it.Key()); name != "_id" {
				f.list(name)
			}
		}
	}
	if f.include == id.Truthy() {
		f.list("_id")
	}
	return f
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

// below returns what of a field is indexed, and whether anything may be.
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

// isInclusion reports whether only some of what is below the path is indexed, and so no value at it.
func (f *pathFilter) isInclusion() bool { return f != nil && f.include }

// has reports whether all values at a path are indexed, as far as there is a key for them.
func (f *pathFilter) has(path string) bool {
	for part := range strings.SplitSeq(path, ".") {
		var ok bool
		if f, ok = f.below([]byte(part)); !ok {
			return false
		}
	}
	return !f.isInclusion()
}

// WildcardPaths tells which paths the wildcard field of an index covers.
type WildcardPaths struct{ filter *pathFilter }

// NewWildcardPaths returns the paths of the wildcard field in a key pattern with one, in a specification as listIndexes shows it.
func NewWildcardPaths(key, options bsonx.Doc) WildcardPaths {
	for it := key.Iter(); it.Next(); {
		if name := string(it.Key()); FieldKind(name, it.Value()) == Wildcard {
			return WildcardPaths{wildcardPaths(name, options)}
		}
	}
	return WildcardPaths{&pathFilter{include: true}}
}

// Has reports whether an index holds the values at a path.
func (p WildcardPaths) Has(path string) bool { return p.filter.has(path) }
