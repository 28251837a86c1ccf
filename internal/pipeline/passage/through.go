package passage

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// Func returns the path that a field has before a stage, given its path after the stage. It
// returns false if the predicate must stay after the stage. For a predicate that reads no field,
// path is empty.
type Func func(path string, p *Predicate) (string, bool)

// Unless returns the Func of a stage that changes only the given top-level fields.
// Predicates that read none of them can move.
func Unless(changed ...string) Func {
	return func(path string, _ *Predicate) (string, bool) {
		for _, name := range changed {
			if path != "" && parsing.TopField(path) == name {
				return "", false
			}
		}
		return path, true
	}
}

// WhereTotal restricts pass to predicates that cannot fail. It is for stages that drop documents.
func WhereTotal(pass Func) Func {
	return func(path string, p *Predicate) (string, bool) {
		if p.CanFail {
			return "", false
		}
		return pass(path, p)
	}
}

// Divide separates the predicates that can move before a stage, with their paths renamed for that
// place, from the predicates that must stay. renamed is true if a path changed.
func Divide(rename Func, predicates []Predicate) (pass, stay []Predicate, renamed bool) {
	if rename == nil {
		return nil, predicates, false
	}
	if allKeep(predicates, rename) {
		return predicates, nil, false
	}
	for _, p := range predicates {
		moved, ok := p.Through(rename)
		if !ok {
			stay = append(stay, p)
			continue
		}
		renamed = renamed || !slices.Equal(moved.Paths, p.Paths)
		pass = append(pass, moved)
	}
	return pass, stay, renamed
}

// allKeep reports whether all predicates can move before a stage without renaming.
func allKeep(predicates []Predicate, pass Func) bool {
	for i := range predicates {
		if !predicates[i].keeps(pass) {
			return false
		}
	}
	return true
}

// keeps reports whether the predicate can move before a stage without renaming.
func (p *Predicate) keeps(pass Func) bool {
	if p.Fixed {
		return false
	}
	for _, path := range p.Paths {
		if to, ok := pass(path, p); !ok || to != path {
			return false
		}
	}
	if len(p.Paths) > 0 {
		return true
	}
	_, ok := pass("", p)
	return ok
}

// Through returns the predicate with its paths renamed for the place before the stage. It returns
// false if a path does not exist there.
func (p Predicate) Through(pass Func) (Predicate, bool) {
	if p.keeps(pass) {
		return p, true
	}
	if p.Fixed || p.hasExpr {
		return p, false
	}
	names := make(map[string]string, len(p.Paths))
	out := p
	out.Paths = make([]string, len(p.Paths))
	for i, path := range p.Paths {
		to, ok := pass(path, &p)
		if !ok {
			return p, false
		}
		names[path], out.Paths[i] = to, to
	}
	out.Spec = renamePaths(p.Spec, names)
	return out, len(p.Paths) > 0
}

// renamePaths returns the predicate with each path replaced by its name in names.
func renamePaths(spec bsonx.Doc, names map[string]string) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for it := spec.Iter(); it.Next(); {
		key, v := string(it.Key()), it.Value()
		switch {
		case !strings.HasPrefix(key, "$"):
			b.Value(names[key], v)
		case v.Type == bsonx.TypeArray:
			b.StartArrayField(key)
			for _, branch := range v.Doc().Values() {
				b.Elem(bsonx.Document(renamePaths(branch.Doc(), names)))
			}
			b.End()
		default:
			b.Value(key, v)
		}
	}
	b.End()
	return b.Bytes()
}
