package pipeline

import (
	"context"
	"sync"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// groupParts are the groups of several goroutines that read parts of the same documents.
type groupParts struct {
	mu    sync.Mutex
	taken bool
	first *groupSource
}

// take returns a part for a goroutine: the stage itself for the first one.
func (p *groupParts) take() *groupSource {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.taken {
		p.taken = true
		return p.first
	}
	part := p.first.group.source(p.first.env, p.first.memory)
	p.first.parts = append(p.first.parts, part)
	return part
}

// gatherShared gathers the groups on several goroutines, each of them its own, and puts them together. It reports false
// where that cannot be done, and where it failed: which of several errors came first was chance, the one that always does is
// found by one goroutine.
func (s *groupSource) gatherShared(ctx context.Context, rows *sharedRows) (bool, error) {
	parts := &groupParts{first: s}
	workers, err := rows.each(ctx, func(ctx context.Context, in source.Source) error { return parts.take().gather(ctx, in) })
	switch {
	case workers == 0:
		return false, nil
	case err == nil:
		return true, s.join()
	case workers == 1 || ctx.Err() != nil:
		return true, err
	}
	s.reset()
	return false, nil
}

// join takes over the groups of the parts, unless one of them was spilled: then all are, and are merged when they are read.
func (s *groupSource) join() error {
	spilled := s.spill.Used()
	for _, part := range s.parts {
		spilled = spilled || part.spill.Used()
	}
	for _, part := range s.parts {
		var err error
		if spilled {
			err = part.writeRun()
		} else {
			err = s.absorb(part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// absorb takes over the groups of a part.
func (s *groupSource) absorb(part *groupSource) error {
	for _, e := range part.entries {
		own, ok := s.index[e.key]
		if !ok {
			s.index[e.key] = e
			s.entries = append(s.entries, e)
			continue
		}
		for i, acc := range own.values {
			if err := accumulator.Finish(e.values[i], false); err != nil {
				return err
			}
			if err := acc.Merge(e.values[i].State()); err != nil {
				return err
			}
		}
	}
	part.entries, part.index = nil, nil
	return nil
}

// reset forgets all groups.
func (s *groupSource) reset() {
	s.closeSpills()
	in := s.Input
	*s = *s.group.source(s.env, s.memory)
	s.Input, s.loaded = in, true
	s.memory.used.Store(0)
}

// closeSpills lets go of what the groups take.
func (s *groupSource) closeSpills() {
	s.spill.Close()
	s.held.Release()
	for _, part := range s.parts {
		part.spill.Close()
		part.held.Release()
	}
}
