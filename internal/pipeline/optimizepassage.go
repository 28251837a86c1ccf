package pipeline

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// passFunc tells how a path that a predicate reads behind a stage is called before it; false where the predicate must
// stay behind. A predicate that reads nothing is asked for with an empty path.
type passFunc func(path string, p *predicate) (string, bool)

// passage returns how predicates get past a stage, or nil where none does.
func passage(s step) passFunc {
	switch stage := s.stage.(type) {
	case *sort:
		if stage.limit == 0 {
			return passUnless()
		}
	case *unwind:
		tops := []string{stage.path[0]}
		if len(stage.index) > 0 {
			tops = append(tops, stage.index[0])
		}
		return whereTotal(passUnless(tops...))
	case *project:
		switch s.name {
		case "$project", "$addFields", "$set", "$unset":
			return passShape(shapeOf(s, stage))
		}
	case *group:
		return passGroup(s)
	default:
		return passNamed(s)
	}
	return nil
}

// passNamed is passage for stages that are known by their specification: $lookup and $graphLookup set one field.
func passNamed(s step) passFunc {
	if s.name != "$lookup" && s.name != "$graphLookup" || s.spec.Type != bsonx.TypeDocument {
		return nil
	}
	as := s.spec.Doc().Lookup("as")
	if as.Type != bsonx.TypeString || !oneToOne(s) {
		return nil
	}
	return passUnless(top(as.Str()))
}

// passUnless lets predicates pass that read none of some top-level fields.
func passUnless(changed ...string) passFunc {
	return func(path string, _ *predicate) (string, bool) {
		for _, name := range changed {
			if path != "" && top(path) == name {
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

// shape is what $project, $addFields and $unset do to top-level fields. What they do below one counts as a change of it:
// a path through arrays is not the same there.
type shape struct {
	inclusion bool              // fields that are not named are dropped
	kept      map[string]bool   // of an inclusion
	changed   map[string]bool   // of the others
	copies    map[string]string // fields that are made of another field as it is
}

func shapeOf(s step, p *project) shape {
	sh := shape{inclusion: p.projection.IsInclusion(), kept: map[string]bool{"_id": true}, changed: map[string]bool{}, copies: map[string]string{}}
	if s.name == "$unset" {
		sh.unset(s.spec)
		return sh
	}
	for it := s.spec.Doc().Iter(); it.Next(); {
		path, v := string(it.Key()), it.Value()
		name := top(path)
		sh.changed[name] = true
		if name != path {
			delete(sh.kept, name)
			continue
		}
		sh.kept[name] = sh.inclusion && (v.Type.IsNumber() || v.Type == bsonx.TypeBool) && v.Truthy()
		if from, ok := copiedField(v); ok {
			sh.copies[name] = from
		}
	}
	return sh
}

func (s *shape) unset(spec bsonx.Value) {
	if spec.Type == bsonx.TypeString {
		s.changed[top(spec.Str())] = true
		return
	}
	for _, v := range spec.Doc().Values() {
		s.changed[top(v.Str())] = true
	}
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
	return func(path string, _ *predicate) (string, bool) {
		name := top(path)
		if from, ok := s.copies[name]; ok {
			return from + path[len(name):], true
		}
		if s.inclusion {
			return path, path == "" || s.kept[name]
		}
		return path, !s.changed[name]
	}
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
			if rest, ok := strings.CutPrefix(path, name); ok && (rest == "" || rest[0] == '.') {
				return from + rest, true
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

// top returns the first component of a path.
func top(path string) string {
	name, _, _ := strings.Cut(path, ".")
	return name
}
