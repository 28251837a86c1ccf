package pipeline

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// passFunc tells how a path that a predicate reads behind a stage is called before it; false where the predicate must
// stay behind. A predicate that reads nothing is asked for with an empty path.
type passFunc func(path string, p *predicate) (string, bool)

// passage returns how predicates get past a stage, or nil where none does.
func passage(s step) passFunc {
	switch stage := s.Stage.(type) {
	case passer:
		return stage.passage(s)
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

// passer is a stage that tells how predicates get past it, or nil where none does.
type passer interface{ passage(s step) passFunc }

// passages are the passages of stages, each of which is made once.
type passages map[parsing.Stage]passFunc

// of is passage for a step of a pipeline that is being optimised.
func (ps passages) of(s step) passFunc {
	pass, ok := ps[s.Stage]
	if !ok {
		pass = passage(s)
		ps[s.Stage] = pass
	}
	return pass
}

// passUnless lets predicates pass that read none of some top-level fields.
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

// whereTotal lets only predicates pass that cannot fail: the stage drops documents.
func whereTotal(pass passFunc) passFunc {
	return func(path string, p *predicate) (string, bool) {
		if p.canFail {
			return "", false
		}
		return pass(path, p)
	}
}

// shape is what $project, $addFields and $unset do to fields.
type shape struct {
	inclusion bool              // fields that are not named are dropped
	kept      []string          // of an inclusion
	changed   []string          // of the others
	copies    map[string]string // top-level fields that are made of another field as it is
}

func shapeOf(s step, p *project) shape {
	sh := shape{inclusion: p.projection.IsInclusion(), copies: map[string]string{}}
	if sh.inclusion {
		sh.kept = p.projection.Kept()
	} else {
		sh.changed = p.projection.Changed()
	}
	if s.name == "$unset" || s.name == "$fill" { // whose specification has no fields at its top
		return sh
	}
	for it := s.spec.Doc().Iter(); it.Next(); {
		if from, ok := copiedField(it.Value()); ok {
			sh.copies[string(it.Key())] = from
		}
	}
	return sh
}

// copiedField returns the field that an expression "$name" copies. A path of several parts gives an array where a
// predicate would look into one, so that it is none.
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
		return isBelow(path, changed) || isBelow(changed, path) || parsing.TopField(changed) == parsing.TopField(path) && !p.looksBeside(path)
	})
}

// looksBeside reports whether a predicate sees the same at a path when a stage changes or drops other fields of the documents that the
// path leads through. Such a stage makes documents of scalars, or drops them: that shows by a position in an array, and by an element
// that is a document without the field where it was none before.
func (p *predicate) looksBeside(path string) bool {
	return !p.misses && !slices.ContainsFunc(strings.Split(path, ".")[1:], isPosition)
}

// isBelow reports whether a path is another one, or leads below it.
func isBelow(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || rest[0] == '.')
}

// passGroup lets comparisons of the key, or of a field of it, pass: they hold for all documents of a group or for none.
func passGroup(s step) passFunc {
	if s.name != "$group" {
		return nil
	}
	names := keyFields(s.spec.Doc().Lookup("_id"))
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

// keyFields returns the paths of a key of groups that copy a field, with that field.
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
