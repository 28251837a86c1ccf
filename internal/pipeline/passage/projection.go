package passage

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/projection"
)

// shape describes which fields $project, $addFields and $unset change.
type shape struct {
	inclusion bool     // an inclusion drops all fields that it does not name
	kept      []string // the paths that an inclusion keeps
	changed   []string // the paths that the other projections change or remove
	// copies maps new top-level fields to the fields that they copy.
	copies map[string]string
}

// OfProjection returns the Func of a stage that projects. spec has the fields of the projection as
// they were written, or is nil.
func OfProjection(p *projection.Projection, spec bsonx.Doc) Func { return shapeOf(p, spec).pass }

func shapeOf(p *projection.Projection, spec bsonx.Doc) *shape {
	sh := &shape{inclusion: p.IsInclusion(), copies: map[string]string{}}
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

// pass is the Func of the projection.
func (s *shape) pass(path string, p *Predicate) (string, bool) {
	name := parsing.TopField(path)
	if from, ok := s.copies[name]; ok {
		return from + path[len(name):], true
	}
	if s.inclusion {
		return path, path == "" || s.keeps(path, p)
	}
	return path, !s.changes(path, p)
}

func (s *shape) keeps(path string, p *Predicate) bool {
	return slices.ContainsFunc(s.kept, func(kept string) bool {
		return isBelow(path, kept) && (kept == parsing.TopField(path) || p.looksBeside(path))
	})
}

func (s *shape) changes(path string, p *Predicate) bool {
	return slices.ContainsFunc(s.changed, func(changed string) bool {
		return isBelow(path, changed) || isBelow(changed, path) ||
			parsing.TopField(changed) == parsing.TopField(path) && !p.looksBeside(path)
	})
}
