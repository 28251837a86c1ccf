package schema

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// OpenLogged is like Open, for a store with an oplog.
func OpenLogged(engine storage.Engine, compiler table.Compiler, log *slog.Logger,
	o table.Options,
) (*table.Store, error) {
	return open(engine, compiler, log, o, func(s *table.Store) error {
		return s.OpenOplog(cmp.Or(o.OplogSize, table.DefaultOplogSize))
	})
}

// Open opens the collections of an engine without an oplog; see OpenLogged. Index builds that a
// crash interrupted are started again in the background.
func Open(engine storage.Engine, compiler table.Compiler, log *slog.Logger,
	o table.Options,
) (*table.Store, error) {
	return open(engine, compiler, log, o, dropLog)
}

func open(engine storage.Engine, compiler table.Compiler, log *slog.Logger,
	o table.Options, openLog func(*table.Store) error,
) (*table.Store, error) {
	s, err := table.New(engine, compiler, log, clock.Settle(clock.OrSystem(o.Clock)))
	if err != nil {
		return nil, err
	}
	for _, step := range openingSteps(s, openLog) {
		if err := take(s, &step); err != nil {
			s.Close()
			return nil, err
		}
	}
	resumeBuilds(s)
	return s, nil
}

// openingStep is one step of opening a store.
type openingStep struct {
	what string
	run  func() error
	// waits says that the store gives right answers without the step. On a full disk the step is
	// postponed to the next start.
	waits bool
}

func openingSteps(s *table.Store, openLog func(*table.Store) error) []openingStep {
	return []openingStep{
		{"deleting dropped data", func() error { return sweepGarbage(s) }, true},
		{"opening the log of changes", func() error { return openLog(s) }, false},
		{"dropping unfinished collections", func() error { return dropUnfinished(s) }, true},
		{"indexes of kinds that are new", func() error { return reopenUnfilled(s) }, false},
		{"dropping interrupted rebuilds of indexes", func() error { return dropRebuilds(s) }, true},
		{"documents of views", func() error { return completeViews(s) }, true},
	}
}

// dropLog drops the oplog of a store that is opened without one: the oplog would lack the changes
// made from now on.
func dropLog(s *table.Store) error {
	if c := s.Lookup(oplog.DB, oplog.Collection); c != nil && c.Oplog {
		return Drop(s, c)
	}
	return nil
}

// take runs a step of opening a store. If the disk is full, it skips a step with waits set.
func take(s *table.Store, step *openingStep) error {
	err := step.run()
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, storage.ErrNoSpace):
		return fmt.Errorf("%s: %w", step.what, err)
	case !step.waits:
		return fmt.Errorf("%s: %w; make space and start again", step.what, err)
	}
	s.Logger().Warn("the disk is full: left for the next start", "what", step.what, "error", err)
	return nil
}

// UnfinishedPrefix is the prefix of the names of collections that will replace another one when
// they are complete. A store drops such collections when it opens, because a crash left them
// behind.
const UnfinishedPrefix = "tmp.agg_out."

// convertedPrefix is the prefix of the names of copies that Convert and Clone make.
const convertedPrefix = "tmp.convertToCapped."

func dropUnfinished(s *table.Store) error {
	for _, entry := range s.Catalog().All() {
		if !strings.HasPrefix(entry.Name, UnfinishedPrefix) && !strings.HasPrefix(entry.Name, convertedPrefix) {
			continue
		}
		if err := Drop(s, entry.Attached); err != nil {
			return fmt.Errorf("dropping the unfinished collection %s.%s: %w", entry.DB, entry.Name, err)
		}
	}
	return nil
}

func sweepGarbage(s *table.Store) error {
	ranges, err := s.Catalog().Garbage()
	if err != nil {
		return err
	}
	return sweepAll(s, ranges)
}
