package schema

import (
	"fmt"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

// CollMod is a change of a collection's options and of one index. Both are changed together.
type CollMod struct {
	// Options replace the options of the collection; nil keeps them.
	Options bsonx.Doc
	// Index names the index that gets the specification Spec; empty means no index. Spec must not
	// change the entries: it may differ in options such as hidden and expireAfterSeconds.
	Index string
	Spec  bsonx.Doc
	// Check, which may be nil, may refuse the change. No other change of the catalog happens
	// between the check and this change.
	Check func() error
}

// Modify changes a collection. It fails with ErrChanged if c is not the newest version.
func Modify(s *table.Store, c *table.Collection, m *CollMod) error {
	return modify(s, c, func(ch *table.CatalogChange, entry *table.Entry) error {
		if err := c.Unchanged(); err != nil {
			return err
		}
		if m.Check != nil {
			if err := m.Check(); err != nil {
				return err
			}
		}
		return apply(s, ch, entry, m)
	})
}

// apply applies a modification to an entry that is not published yet.
func apply(s *table.Store, ch *table.CatalogChange, entry *table.Entry, m *CollMod) error {
	if m.Index != "" {
		if err := replaceSpec(s, ch, entry, m.Index, m.Spec); err != nil {
			return err
		}
	}
	if m.Options == nil {
		return nil
	}
	old := entry.Options
	entry.Options = m.Options.Clone()
	return logCollMod(s, ch, entry, old, entry.Options)
}

func replaceSpec(s *table.Store, ch *table.CatalogChange, entry *table.Entry, name string, spec bsonx.Doc) error {
	i := slices.IndexFunc(entry.Indexes, func(ix *catalog.Index) bool { return ix.Name == name })
	if i < 0 {
		return errNoIndex
	}
	old, replaced := entry.Indexes[i], catalog.NewIndex(entry.Indexes[i].ID, spec.Clone())
	replaced.Ready, replaced.Enforced, replaced.Filled = old.Ready, old.Enforced, old.Filled
	entry.Indexes = slices.Clone(entry.Indexes)
	entry.Indexes[i] = replaced
	return logIndexMod(s, ch, entry, name, old.Spec, spec)
}

// errNoIndex means that an index was dropped meanwhile.
var errNoIndex = mongoerr.New(mongoerr.IndexNotFound, "the index was dropped")

// modify lets fn change a copy of the newest version's catalog entry, and publishes the copy.
func modify(s *table.Store, c *table.Collection, fn func(ch *table.CatalogChange, entry *table.Entry) error) error {
	return s.Change([]*table.Collection{c}, mirrored(func(ch *table.CatalogChange) error {
		newest := s.Current(c)
		if newest == nil {
			return fmt.Errorf("%w: %w",
				mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s", c.Namespace()), table.ErrChanged)
		}
		entry := *newest.Collection
		if err := fn(ch, &entry); err != nil {
			return err
		}
		ch.Put(&entry)
		return nil
	}))
}

// DropIndexes removes indexes by name. It fails with ErrChanged if c is not the newest version.
func DropIndexes(s *table.Store, c *table.Collection, names ...string) error {
	return discard(s, []*table.Collection{c}, func(ch *table.CatalogChange) ([]catalog.Range, error) {
		if err := c.Unchanged(); err != nil {
			return nil, err
		}
		return withoutIndexes(s, ch, c, func(ix *table.Index) bool { return slices.Contains(names, ix.Name) })
	})
}

// dropUnbuilt removes the remaining indexes of a failed build.
func dropUnbuilt(s *table.Store, c *table.Collection, ids []uint32) error {
	return dropIndexes(s, c, func(ix *table.Index) bool { return slices.Contains(ids, ix.ID) })
}

// dropIndexes removes indexes of a collection. It does nothing if the collection was dropped.
func dropIndexes(s *table.Store, c *table.Collection, drop func(*table.Index) bool) error {
	return discard(s, []*table.Collection{c}, func(ch *table.CatalogChange) ([]catalog.Range, error) {
		newest := s.Current(c)
		if newest == nil {
			return nil, nil
		}
		return withoutIndexes(s, ch, newest, drop)
	})
}

// withoutIndexes removes indexes of the newest version of a collection.
func withoutIndexes(s *table.Store, ch *table.CatalogChange, newest *table.Collection,
	drop func(*table.Index) bool,
) (garbage []catalog.Range, err error) {
	entry := *newest.Collection
	entry.Indexes = nil
	for _, ix := range newest.AllIndexes() {
		if !drop(ix) {
			entry.Indexes = append(entry.Indexes, ix.Index)
			continue
		}
		garbage = append(garbage, ix.Ranges()...)
		if err := logDropIndex(s, ch, &entry, ix); err != nil {
			return nil, err
		}
	}
	if len(garbage) > 0 {
		ch.Put(&entry)
	}
	return garbage, nil
}
