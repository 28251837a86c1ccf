package index

import (
	"cmp"
	"slices"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Definition is one type of index, with all its properties.
type Definition struct {
	// Name is the value in a key pattern that selects the type. It is empty for the types that a
	// key pattern selects otherwise.
	Name string
	// Title is the name in documentation, if it is not Name.
	Title string
	// Compile returns the generator of an index and the fields of its keys.
	Compile func(Spec) (Pattern, Generator, error)
	// Image returns the value that a field of the type holds for the value at its path. Equal
	// values have the same image; values with the same image may differ. Image fails if the
	// operation r ends; r may be nil. It is nil for a type whose fields do not hold images.
	Image func(v bsonx.Value, r *interrupt.Running) (bsonx.Value, error)
	// Defaults are the options that the catalog stores if a specification does not have them.
	// DDL computes the defaults that depend on other options, as for text indexes.
	Defaults bsonx.Doc

	Properties
}

// Properties say what an index of a type can do. None has a default: a test refuses a definition in
// which one has the zero value.
type Properties struct {
	// ByPaths says that the keys depend only on the values at the paths of the key pattern.
	ByPaths feature.Answer
	// Bounded says that predicates on a path can bound the field of that path.
	Bounded feature.Answer
	// Equality says that a scan finds all documents with a given value at the path of the first
	// field.
	Equality feature.Answer
	// Unique says that an index of the type may become unique.
	Unique feature.Answer
	// ArrayPaths says that explain shows which paths were arrays.
	ArrayPaths feature.Answer
	// Geo says that the fields of the type hold cells of a space, and that the index has only
	// entries of documents with a geometry.
	Geo feature.Answer
	// JoinsValues says that a field beside the fields of the type holds one array if there are
	// several values at its path, so that the entries do not hold the values.
	JoinsValues feature.Answer
	// StableAPI says that version 1 of the stable API has indexes of the type.
	StableAPI feature.Answer
	// Collation says that an index of the type can have a collation.
	Collation feature.Answer
	// AllPaths says that a field of the type may have the path $**, which selects all paths.
	AllPaths feature.Answer
	// Several says that a collection can have several indexes of the type.
	Several feature.Answer
	// Series says on which fields of a time series an index of the type can be.
	Series Series
}

// Series says on which fields of a time series an index can be.
type Series byte

// Values of Series. The field with the time can only have ascending and descending indexes.
const (
	_              Series = iota
	NotOnSeries           // on no field
	OnMeta                // on the meta field, whose values buckets store unchanged
	OnMeasurements        // on the meta field and on measurements
)

// listed returns the definition of every type, by its Kind.
func listed() []Definition {
	return []Definition{
		Ordered: orderedDefinition(), Hashed: hashedDefinition(), Wildcard: wildcardDefinition(),
		Text: textDefinition(), Plane: planeDefinition(), Sphere: sphereDefinition(),
	}
}

// table holds the result of definitions. It is filled at the first use and not initialised, because
// the functions in it read it when they compile an index.
var table struct {
	once sync.Once
	defs []Definition
}

// definitions returns the definition of every type, by its Kind.
func definitions() []Definition {
	table.once.Do(func() { table.defs = listed() })
	return table.defs
}

// Definition returns the definition of the type.
func (k Kind) Definition() *Definition { return &definitions()[k] }

// kindNamed returns the kind that a key pattern selects by a name, or -1.
func kindNamed(name string) Kind {
	if name == "" {
		return -1
	}
	return Kind(slices.IndexFunc(definitions(), func(d Definition) bool { return d.Name == name }))
}

// Named returns the definition of the type that a key pattern selects by a name, or nil.
func Named(name string) *Definition {
	if k := kindNamed(name); k >= 0 {
		return k.Definition()
	}
	return nil
}

// Having returns the first type of a key pattern whose definition has the property. found is false
// if no field has such a type.
func Having(key bsonx.Doc, property func(*Definition) bool) (k Kind, found bool) {
	for it := key.Iter(); it.Next(); {
		k := FieldKind(string(it.Key()), it.Value())
		if property(k.Definition()) {
			return k, true
		}
	}
	return Ordered, false
}

// Has reports whether a field of a key pattern has the type.
func Has(key bsonx.Doc, k Kind) bool {
	for it := key.Iter(); it.Next(); {
		if FieldKind(string(it.Key()), it.Value()) == k {
			return true
		}
	}
	return false
}

// GeoKinds returns the types with the property Geo, in the order in which $geoNear looks for an
// index.
func GeoKinds() []Kind {
	var out []Kind
	for k, def := range definitions() {
		if def.Geo == feature.Yes {
			out = append(out, Kind(k))
		}
	}
	return out
}

// Unstable reports whether version 1 of the stable API does not have indexes of the type.
func (d *Definition) Unstable() bool { return d.StableAPI != feature.Yes }

// IsGeo reports whether fields of the type hold cells of a space.
func (k Kind) IsGeo() bool { return k.Definition().Geo == feature.Yes }

// Kinds returns the index types by their user-visible names.
func Kinds() []string {
	var out []string
	for _, def := range definitions() {
		out = append(out, cmp.Or(def.Title, def.Name))
	}
	return out
}

// Compile returns the generator of an index, and the fields of its keys. Each field is one value in
// a key. The fields are the fields of the key pattern, or others that the index type derives from
// them.
func Compile(s Spec) (Pattern, Generator, error) { return KindOf(s.Key).Definition().Compile(s) }
