package index

import (
	"encoding/binary"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// PathField is the name of the field in a wildcard index's entries that holds the path of the
// value. The value is the next field.
const PathField = "$_path"

// codeRegularArray is the error code for an array in a regular field of a compound wildcard index.
const codeRegularArray = mongoerr.Code(7246301)

// wildcardGen generates the keys of a wildcard index: one for each value at each path. A value that
// is a non-empty document has no key of its own. The keys of a compound wildcard index also hold
// the values of the other fields, which must not be arrays.
//
// An array is indexed by its elements. An array inside an array is one value, and an empty array is
// undefined. A document of which nothing is indexed, because its fields are excluded or have dots
// in their names, is also undefined. So every document with an indexed path has an entry. In a
// compound index, other documents have an entry with MinKey if one of the other fields exists.
type wildcardGen struct {
	before, after []keyField
	desc          bool
	paths         *pathFilter
	collation     *collation.Collator
}

func wildcardDefinition() Definition {
	return Definition{
		Title: "wildcard ($**)", Compile: compileWildcard,
		Properties: Properties{
			ByPaths: feature.No, Bounded: feature.No, Equality: feature.No,
			Unique: feature.No, ArrayPaths: feature.Yes,
			Geo: feature.No, JoinsValues: feature.No, StableAPI: feature.Yes,
			Collation: feature.Yes, AllPaths: feature.No, Several: feature.Yes,
			Series: OnMeta,
		},
	}
}

func compileWildcard(s Spec) (Pattern, Generator, error) {
	g := &wildcardGen{collation: s.Collation}
	var p Pattern
	for _, f := range fieldsOf(s.Key) {
		field := newKeyField(f)
		switch {
		case f.Kind == Wildcard:
			p = append(p, Field{Path: PathField, Kind: Wildcard})
			g.desc, g.paths = f.Desc, wildcardPaths(f.Path, s.Options)
		case g.paths == nil:
			g.before = append(g.before, field)
		default:
			g.after = append(g.after, field)
		}
		p = append(p, f)
	}
	return p, g, nil
}

// wildcardWalk is the state of one call of Generate.
type wildcardWalk struct {
	*wildcardGen
	out *Keys
	// made counts the keys, including duplicates within the document.
	made int
}

// Generate implements Generator.
func (g *wildcardGen) Generate(doc bsonx.Doc, out *Keys) error {
	w := wildcardWalk{wildcardGen: g, out: out}
	out.regular = out.regular[:0]
	missing := 0
	for _, fields := range [...][]keyField{g.before, g.after} {
		for i := range fields {
			f := &fields[i]
			v, pos := f.walk(doc.Lookup(f.parts[0]), 1)
			if v.Type == bsonx.TypeArray {
				return mongoerr.New(codeRegularArray, "field %s cannot be indexed as an array (multikey)",
					strings.Join(f.parts[pos-1:], "."))
			}
			if v.IsMissing() {
				missing++
			}
			out.regular = append(out.regular, out.fold(g.collation, v))
		}
	}
	out.path = append(out.path[:0], 0, 0, 0, 0) // room for the length of a BSON string
	w.fields(doc, g.paths)
	if w.made == 0 && missing < len(out.regular) {
		w.emit(bsonx.MinKey, bsonx.MinKey)
	}
	return out.sortUnique()
}

// fields adds the keys of a document's fields.
func (w *wildcardWalk) fields(doc bsonx.Doc, paths *pathFilter) {
	length := len(w.out.path)
	for it := doc.Iter(); w.out.ended == nil && it.Next(); {
		name := it.Key()
		below, ok := paths.below(name)
		if !ok || strings.IndexByte(string(name), '.') >= 0 {
			continue
		}
		if length > pathStart {
			w.out.path = append(w.out.path, '.')
		}
		w.out.path = append(w.out.path, name...)
		w.value(it.Value(), below)
		w.out.path = w.out.path[:length]
	}
}

// pathStart is the offset of a path in the buffer.
const pathStart = 4

// value adds the keys of the value at the path. If the filter includes only some paths below this
// path, the value itself is not indexed.
func (w *wildcardWalk) value(v bsonx.Value, paths *pathFilter) {
	switch {
	case v.Type == bsonx.TypeArray:
		w.out.addArray(w.out.path[pathStart:])
		count := w.made
		for it := v.Doc().Iter(); w.out.ended == nil && it.Next(); {
			if it.Value().Type == bsonx.TypeDocument {
				w.document(it.Value(), paths)
			} else if !paths.isInclusion() || it.Value().Type == bsonx.TypeArray {
				w.leaf(it.Value())
			}
		}
		if w.made == count {
			w.leaf(bsonx.Undefined)
		}
	case v.Type == bsonx.TypeDocument:
		w.document(v, paths)
	case !paths.isInclusion():
		w.leaf(v)
	}
}

func (w *wildcardWalk) document(v bsonx.Value, paths *pathFilter) {
	if v.Doc().IsEmpty() {
		w.leaf(v)
		return
	}
	count := w.made
	w.fields(v.Doc(), paths)
	if w.made == count {
		w.leaf(bsonx.Undefined)
	}
}

// leaf adds the key of a value at the path.
func (w *wildcardWalk) leaf(v bsonx.Value) {
	n := len(w.out.path)
	w.out.path = append(w.out.path, 0)
	binary.LittleEndian.PutUint32(w.out.path, uint32(n+1-pathStart))
	w.emit(bsonx.Value{Type: bsonx.TypeString, Data: w.out.path}, w.out.fold(w.collation, v))
	w.out.path = w.out.path[:n]
}

func (w *wildcardWalk) emit(path, v bsonx.Value) {
	w.made++
	start := w.out.begin()
	for i := range w.before {
		w.out.append(w.out.regular[i], w.before[i].desc)
	}
	w.out.append(path, false)
	w.out.append(v, w.desc)
	for i := range w.after {
		w.out.append(w.out.regular[len(w.before)+i], w.after[i].desc)
	}
	w.out.finish(start)
}
