package index

import (
	"maps"
	"strings"
)

// maxArrayPaths is the largest number of array paths that a wildcard index remembers. With more,
// every path counts as an array path. Then bounds are less exact, and the index can neither sort
// nor cover a query.
const maxArrayPaths = 1000

// PathSet is the set of paths at which a wildcard index has met arrays. It is immutable. A nil
// PathSet is the empty set.
type PathSet struct {
	paths map[string]struct{}
	all   bool
}

// AllPaths is the set of all paths.
func AllPaths() *PathSet { return &PathSet{all: true} }

// Covers reports whether all paths are in the set.
func (s *PathSet) Covers(paths []string) bool {
	for _, p := range paths {
		if !s.has(p) {
			return false
		}
	}
	return true
}

func (s *PathSet) has(path string) bool {
	if s == nil {
		return false
	}
	_, ok := s.paths[path]
	return ok || s.all
}

// IsAll reports whether the set contains all paths.
func (s *PathSet) IsAll() bool { return s != nil && s.all }

// With returns the set with further paths added, and the paths that were not in it before.
func (s *PathSet) With(paths []string) (out *PathSet, added []string) {
	out = &PathSet{paths: map[string]struct{}{}}
	if s != nil {
		maps.Copy(out.paths, s.paths)
		out.all = s.all
	}
	for _, p := range paths {
		if !out.has(p) {
			out.paths[p] = struct{}{}
			added = append(added, p)
		}
	}
	if len(out.paths) > maxArrayPaths {
		return AllPaths(), added
	}
	return out, added
}

// Components returns, as a bit set, which components of a path were arrays.
func (s *PathSet) Components(path string) (bits uint64) {
	if s == nil {
		return 0
	}
	for k, start := 0, 0; k < 64; k++ {
		next := strings.IndexByte(path[start:], '.')
		if next < 0 {
			return bits | bit(s.has(path), k)
		}
		start += next + 1
		bits |= bit(s.has(path[:start-1]), k)
	}
	return bits
}

func bit(set bool, n int) uint64 {
	if set {
		return 1 << n
	}
	return 0
}
