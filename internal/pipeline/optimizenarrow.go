package pipeline

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/pipeline/foreign"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/unwind"
)

// narrower is a stage that copies its documents and can leave out fields that nobody reads.
type narrower interface {
	// narrow returns the stage that keeps these top-level fields of its results, and may drop all others.
	narrow(fields []string) parsing.Stage
}

// narrowStages tells stages what is read of their results.
func narrowStages(steps []step) []step {
	changed := slices.Clone(steps)
	for i, s := range steps {
		n, ok := narrowerOf(s.Stage)
		if !ok {
			continue
		}
		if fields, ok := readFields(steps[i+1:]); ok {
			changed[i].Stage = n.narrow(fields)
		}
	}
	return changed
}

// readFields returns the top-level fields that stages read of their documents; false where it may be all of them.
func readFields(steps []step) ([]string, bool) {
	n := &needs{}
	for _, s := range steps {
		reader, ok := readerOf(s.Stage)
		if !ok {
			return nil, false
		}
		reader.needs(n)
		if n.whole {
			return nil, false
		}
		if n.done {
			fields := make([]string, len(n.paths))
			for i, path := range n.paths {
				fields[i] = top(path)
			}
			slices.Sort(fields)
			return slices.Compact(fields), true
		}
	}
	return nil, false
}

// narrowerOf returns a stage as a narrower, false where it is none.
func narrowerOf(s parsing.Stage) (narrower, bool) {
	switch s := s.(type) {
	case *unwind.Stage:
		return unwindReads{s}, true
	case *foreign.Lookup:
		return lookupReads{s}, true
	default:
		n, ok := s.(narrower)
		return n, ok
	}
}

// unwindReads tells what a $unwind reads.
type unwindReads struct{ *unwind.Stage }

func (u unwindReads) narrow(fields []string) parsing.Stage {
	return narrowUnwind(u.Stage, fields)
}

func narrowUnwind(u *unwind.Stage, fields []string) *unwind.Stage {
	narrowed := *u
	narrowed.Wanted = fields
	if u.Index != nil && !slices.Contains(fields, u.Index[0]) {
		narrowed.Index = nil
	}
	return &narrowed
}
