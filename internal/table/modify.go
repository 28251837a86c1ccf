package table

import (
	"fmt"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// CollMod is a change of a collection's options and of one index, made together.
type CollMod struct {
	// Options replace those of the collection; nil leaves them.
	Options bsonx.Doc
	// Index names the index that gets the specification Spec, which has the same entries (hidden,
	// expireAfterSeconds); empty for none.
	Index string
	Spec  bsonx.Doc
	// Check, which may be nil, refuses the change. No other change of the catalog happens between the
	// check and this one.
	Check func() error
}

// Modify changes a collection. It fails with ErrChanged where c is not the newest version.
func (s *Store) Modify(c *Collection, m *CollMod) error {
	return s.modify(c, func(ch *catalog.Change, entry *catalog.Collection) error {
		if err := c.unchanged(); err != nil {
			return err
		}
		if m.Check != nil {
			if err := m.Check(); err != nil {
				return err
			}
		}
		return s.apply(ch, entry, m)
	})
}

// apply makes a modification of an entry that is not published yet.
func (s *Store) apply(ch *catalog.Change, entry *catalog.Collection, m *CollMod) error {
	if m.Index != "" {
		if err := s.replaceSpec(ch, entry, m.Index, m.Spec); err != nil {
			return err
		}
	}
	if m.Options == nil {
		return nil
	}
	old := entry.Options
	entry.Options = m.Options.Clone()
	return s.logCollMod(ch, entry, old, entry.Options)
}

func (s *Store) replaceSpec(ch *catalog.Change, entry *catalog.Collection, name string, spec bsonx.Doc) error {
	i := slices.IndexFunc(entry.Indexes, func(ix *catalog.Index) bool { return ix.Name == name })
	if i < 0 {
		return errNoIndex
	}
	old, replaced := entry.Indexes[i], catalog.NewIndex(entry.Indexes[i].ID, spec.Clone())
	replaced.Ready, replaced.Enforced, replaced.Filled = old.Ready, old.Enforced, old.Filled
	entry.Indexes = slices.Clone(entry.Indexes)
	entry.Indexes[i] = replaced
	return s.logIndexMod(ch, entry, name, old.Spec, spec)
}

// errNoIndex means that an index was dropped meanwhile.
var errNoIndex = mongoerr.New(mongoerr.IndexNotFound, "the index was dropped")

// modify changes a copy of the newest version's entry and publishes it.
func (s *Store) modify(c *Collection, fn func(ch *catalog.Change, entry *catalog.Collection) error) error {
	return s.Change([]*Collection{c}, mirrored(func(ch *catalog.Change) error {
		newest := s.Current(c)
		if newest == nil {
			return fmt.Errorf("%w: %w", mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s", c.Namespace()), ErrChanged)
		}
		entry := *newest.Collection
		if err := fn(ch, &entry); err != nil {
			return err
		}
		ch.Put(&entry)
		return nil
	}))
}

// DropIndexes removes indexes by name. It fails with ErrChanged where c is not the newest version.
func (s *Store) DropIndexes(c *Collection, names ...string) error {
	return s.discard([]*Collection{c}, func(ch *catalog.Change) ([]catalog.Range, error) {
		if err := c.unchanged(); err != nil {
			return nil, err
		}
		return s.withoutIndexes(ch, c, func(ix *Index) bool { return slices.Contains(names, ix.Name) })
	})
}

// dropUnbuilt removes the indexes of a failed build, as far as they are still there.
func (s *Store) dropUnbuilt(c *Collection, ids []uint32) error {
	return s.dropIndexes(c, func(ix *Index) bool { return slices.Contains(ids, ix.ID) })
}

// dropIndexes removes indexes of a collection, if it is still there.
func (s *Store) dropIndexes(c *Collection, drop func(*Index) bool) error {
	return s.discard([]*Collection{c}, func(ch *catalog.Change) ([]catalog.Range, error) {
		newest := s.Current(c)
		if newest == nil {
			return nil, nil
		}
		return s.withoutIndexes(ch, newest, drop)
	})
}

// withoutIndexes removes indexes of the newest version of a collection.
func (s *Store) withoutIndexes(ch *catalog.Change, newest *Collection, drop func(*Index) bool) (garbage []catalog.Range, err error) {
	entry := *newest.Collection
	entry.Indexes = nil
	for _, ix := range newest.withRebuilds() {
		if !drop(ix) {
			entry.Indexes = append(entry.Indexes, ix.Index)
			continue
		}
		garbage = append(garbage, ix.ranges()...)
		if err := s.logDropIndex(ch, &entry, ix); err != nil {
			return nil, err
		}
	}
	if len(garbage) > 0 {
		ch.Put(&entry)
	}
	return garbage, nil
}
