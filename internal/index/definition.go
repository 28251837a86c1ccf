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
}

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
