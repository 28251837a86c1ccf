package pipeline

import (
	"context"
	"sync"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// groupParts hands out a groupSource to each of several goroutines that group disjoint parts of the
// input.
type groupParts struct {
	mu    sync.Mutex
	taken bool
	first *groupSource
}

// take returns the groupSource for the calling goroutine. The first caller gets the stage's own
// source, later callers new ones.
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

// gatherShared groups the input on several goroutines and joins their groups. It returns false if
// the input cannot be shared, or if several goroutines took part and one failed. The caller then
// groups on one goroutine: which of several errors came first was chance, and a single goroutine
// always reports the same one.
func (s *groupSource) gatherShared(ctx context.Context, rows *sharedRows) (bool, error) {
	parts := &groupParts{first: s}
	workers, err := rows.each(ctx,
		func(ctx context.Context, in source.Source) error { return parts.take().gather(ctx, in) })
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

// join adds the groups of the other goroutines to s. If one of the parts was spilled, join spills
// all of them, and reading the results merges the runs.
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

// absorb adds the groups of one part to s.
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

// reset discards all groups, so that s can group its input again.
func (s *groupSource) reset() {
	s.closeSpills()
	in := s.Input
	*s = *s.group.source(s.env, s.memory)
	s.Input, s.loaded = in, true
	s.memory.used.Store(0)
}

// closeSpills releases the spilled runs and the reserved memory of all parts.
func (s *groupSource) closeSpills() {
	s.spill.Close()
	s.held.Release()
	for _, part := range s.parts {
		part.spill.Close()
		part.held.Release()
	}
}
