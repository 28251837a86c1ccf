package pipeline

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/projection"
)

// passFunc returns the path that a field has before a stage, given its path after the stage. It
// returns false if the predicate must stay after the stage. For a predicate that reads no field,
// path is empty.
type passFunc func(path string, p *predicate) (string, bool)

// passage returns the function that moves predicates before stage s, or nil if no predicate can
// move.
func passage(s parsing.Stage) passFunc {
	switch stage := s.(type) {
	case passer:
		return stage.passage()
	case parsing.Changer:
		fields, drops, ok := stage.Changes()
		switch {
		case !ok:
			return nil
		case drops:
			return whereTotal(passUnless(fields...))
		}
		return passUnless(fields...)
	}
	return nil
}

// passer is a stage with its own passFunc. passage returns nil if no predicate can move before the
// stage.
type passer interface{ passage() passFunc }

// passages caches the result of passage for each stage.
type passages map[parsing.Stage]passFunc

// of returns passage(s), from the cache if possible.
func (ps passages) of(s parsing.Stage) passFunc {
	pass, ok := ps[s]
	if !ok {
		pass = passage(s)
		ps[s] = pass
	}
	return pass
}

// passUnless returns a passFunc for a stage that changes only the given top-level fields.
// Predicates that read none of them can move.
func passUnless(changed ...string) passFunc {
	return func(path string, _ *predicate) (string, bool) {
		for _, name := range changed {
			if path != "" && parsing.TopField(path) == name {
				return "", false
			}
		}
		return path, true
	}
}

// whereTotal restricts pass to predicates that cannot fail. It is for stages that drop documents.
func whereTotal(pass passFunc) passFunc {
	return func(path string, p *predicate) (string, bool) {
		if p.canFail {
			return "", false
		}
		return pass(path, p)
	}
}

// shape describes which fields $project, $addFields and $unset change.
type shape struct {
	inclusion bool     // an inclusion drops all fields that it does not name
	kept      []string // the paths that an inclusion keeps
	changed   []string // the paths that the other projections change or remove
	// copies maps new top-level fields to the fields that they copy.
	copies map[string]string
}

// shapeOf returns the shape of a projection. spec has its fields as they were written, or is nil.
func shapeOf(p *projection.Projection, spec bsonx.Doc) shape {
	sh := shape{inclusion: p.IsInclusion(), copies: map[string]string{}}
	if sh.inclusion {
		sh.kept = p.Kept()
	} else {
		sh.changed = p.Changed()
	}
	if spec == nil {
		return sh
	}
	for it := spec.Iter(); it.Next(); {
		if from, ok := copiedField(it.Value()); ok {
			sh.copies[string(it.Key())] = from
		}
	}
	return sh
}

// copiedField returns the name of the field that an expression "$name" copies. Paths with several
// components do not count: in the expression they collect the elements of arrays into a new array,
// while a predicate looks into the array itself.
func copiedField(v bsonx.Value) (string, bool) {
	if v.Type != bsonx.TypeString {
		return "", false
	}
	name, ok := strings.CutPrefix(v.Str(), "$")
	return name, ok && name != "" && name[0] != '$' && !strings.Contains(name, ".")
}

func passShape(s shape) passFunc {
	return func(path string, p *predicate) (string, bool) {
		name := parsing.TopField(path)
		if from, ok := s.copies[name]; ok {
			return from + path[len(name):], true
		}
		if s.inclusion {
			return path, path == "" || s.keeps(path, p)
		}
		return path, !s.changes(path, p)
	}
}

func (s *shape) keeps(path string, p *predicate) bool {
	return slices.ContainsFunc(s.kept, func(kept string) bool {
		return isBelow(path, kept) && (kept == parsing.TopField(path) || p.looksBeside(path))
	})
}

func (s *shape) changes(path string, p *predicate) bool {
	return slices.ContainsFunc(s.changed, func(changed string) bool {
		return isBelow(path, changed) || isBelow(changed, path) ||
			parsing.TopField(changed) == parsing.TopField(path) && !p.looksBeside(path)
	})
}

// looksBeside reports whether a predicate on path gives the same answer after a stage has changed
// or dropped sibling fields along the path. Such a stage may turn a scalar into a document, or drop
// it. A predicate notices that in two cases: an array index in the path, or a test that matches
// missing fields.
func (p *predicate) looksBeside(path string) bool {
	return !p.misses && !slices.ContainsFunc(strings.Split(path, ".")[1:], isPosition)
}

// isBelow reports whether path equals other or is a path within it.
func isBelow(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || rest[0] == '.')
}

// passKey returns the passFunc of a stage that groups by the expression id. Comparisons with the
// group key, or a field of it, can move: they hold for all documents of a group or for none.
func passKey(id bsonx.Value) passFunc {
	names := keyFields(id)
	return func(path string, p *predicate) (string, bool) {
		if !p.compares || p.canFail {
			return "", false
		}
		for name, from := range names {
			if isBelow(path, name) {
				return from + path[len(name):], true
			}
		}
		return "", false
	}
}

// keyFields returns the paths of the group key that copy a field, with the field that they copy.
func keyFields(id bsonx.Value) map[string]string {
	names := map[string]string{}
	if from, ok := copiedField(id); ok {
		names["_id"] = from
	}
	if id.Type != bsonx.TypeDocument || strings.HasPrefix(string(id.Doc().First().Key), "$") {
		return names
	}
	for it := id.Doc().Iter(); it.Next(); {
		if from, ok := copiedField(it.Value()); ok {
			names["_id."+string(it.Key())] = from
		}
	}
	return names
}
