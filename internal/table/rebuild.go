package table

import (
	"context"
	"errors"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
)

// RebuildIndexes builds the complete indexes of a collection anew and returns their specifications. The
// new ones are built beside the old ones, under other names, and take their place in one change: a
// rebuild that fails or is interrupted leaves the collection as it was. The index on _id is not rebuilt.
func (s *Store) RebuildIndexes(ctx context.Context, c *Collection) ([]bsonx.Doc, error) {
	if s.isLive(c) {
		return nil, errLiveOplog("rebuild an index of the")
	}
	replaces := map[uint32]uint32{} // identifiers, the new index's to the old one's
	var ids []uint32
	specs := []bsonx.Doc{}
	err := s.modify(c, func(ch *catalog.Change, entry *catalog.Collection) error {
		entry.Indexes = slices.Clone(entry.Indexes)
		for _, old := range entry.Indexes {
			if !old.Ready || isRebuild(old.Name) {
				continue
			}
			ix := catalog.NewIndex(ch.NewID(), renamedSpec(old.Spec, rebuildPrefix+old.Name))
			entry.Indexes = append(entry.Indexes, ix)
			replaces[ix.ID] = old.ID
			ids = append(ids, ix.ID)
			specs = append(specs, old.Spec)
		}
		return nil
	})
	if err != nil || len(ids) == 0 {
		return specs, err
	}
	if err = s.fillIndexes(ctx, c, ids); err == nil {
		err = s.replaceIndexes(c, replaces)
	}
	if err != nil {
		return nil, errors.Join(err, s.dropUnbuilt(c, ids))
	}
	return specs, nil
}

// replaceIndexes puts filled indexes in the place of others, keys of the map, and deletes those.
func (s *Store) replaceIndexes(c *Collection, replaces map[uint32]uint32) error {
	return s.discard([]*Collection{c}, func(ch *catalog.Change) (garbage []catalog.Range, err error) {
		newest := s.Current(c)
		if newest == nil {
			return nil, abortedByDrop(c)
		}
		rebuilt := map[uint32]*Index{} // by the identifiers of the old ones
		for _, ix := range newest.Rebuilds() {
			if id, ok := replaces[ix.ID]; ok {
				rebuilt[id] = ix
			}
		}
		entry := *newest.Collection
		entry.Indexes = nil
		for _, old := range newest.withRebuilds() {
			ix, isOld := rebuilt[old.ID]
			_, isNew := replaces[old.ID]
			switch {
			case isOld:
				// The specification may have changed meanwhile in what leaves the entries as they are.
				complete := catalog.NewIndex(ix.ID, old.Spec)
				markReady(complete)
				entry.Indexes = append(entry.Indexes, complete)
				garbage = append(garbage, old.ranges()...)
				delete(rebuilt, old.ID)
			case !isNew:
				entry.Indexes = append(entry.Indexes, old.Index)
			}
		}
		for _, ix := range rebuilt { // of indexes that were dropped meanwhile
			garbage = append(garbage, ix.ranges()...)
		}
		ch.Put(&entry)
		return garbage, nil
	})
}

// renamedSpec returns the specification of an index under another name.
func renamedSpec(spec bsonx.Doc, name string) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for it := spec.Iter(); it.Next(); {
		v := it.Value()
		if string(it.Key()) == "name" {
			v = bsonx.String(name)
		}
		b.ValueBytes(it.Key(), v)
	}
	b.End()
	return b.Bytes()
}
