package schema

import (
	"context"
	"errors"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/table"
)

// RebuildIndexes rebuilds the complete indexes of a collection and returns their specifications. It
// builds the new indexes beside the old ones, under other names. They then replace the old ones in
// one change of the catalog. A rebuild that fails or is interrupted leaves the collection
// unchanged. The _id index is not rebuilt.
func RebuildIndexes(ctx context.Context, s *table.Store, c *table.Collection) ([]bsonx.Doc, error) {
	if s.IsLive(c) {
		return nil, errLiveOplog("rebuild an index of the")
	}
	replaces := map[uint32]uint32{} // from the identifier of a new index to the identifier of the old one
	var ids []uint32
	specs := []bsonx.Doc{}
	err := modify(s, c, func(ch *table.CatalogChange, entry *table.Entry) error {
		entry.Indexes = slices.Clone(entry.Indexes)
		for _, old := range entry.Indexes {
			if !old.Ready || table.IsRebuild(old.Name) {
				continue
			}
			ix := catalog.NewIndex(ch.NewID(), renamedSpec(old.Spec, table.RebuildPrefix+old.Name))
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
	if err = fillIndexes(ctx, s, c, ids); err == nil {
		err = replaceIndexes(s, c, replaces)
	}
	if err != nil {
		return nil, errors.Join(err, dropUnbuilt(s, c, ids))
	}
	return specs, nil
}

// replaceIndexes puts complete new indexes in the place of old ones, and deletes the old ones. The
// keys of replaces are the identifiers of the new indexes, the values are identifiers of the old
// ones.
func replaceIndexes(s *table.Store, c *table.Collection, replaces map[uint32]uint32) error {
	return discard(s, []*table.Collection{c}, func(ch *table.CatalogChange) (garbage []catalog.Range, err error) {
		newest := s.Current(c)
		if newest == nil {
			return nil, abortedByDrop(c)
		}
		rebuilt := map[uint32]*table.Index{} // by identifier of the old index
		for _, ix := range newest.Rebuilds() {
			if id, ok := replaces[ix.ID]; ok {
				rebuilt[id] = ix
			}
		}
		entry := *newest.Collection
		entry.Indexes = nil
		for _, old := range newest.AllIndexes() {
			ix, isOld := rebuilt[old.ID]
			_, isNew := replaces[old.ID]
			switch {
			case isOld:
				// The specification may have changed meanwhile, but only in options that do not
				// affect the entries.
				complete := catalog.NewIndex(ix.ID, old.Spec)
				table.MarkReady(complete)
				entry.Indexes = append(entry.Indexes, complete)
				garbage = append(garbage, old.Ranges()...)
				delete(rebuilt, old.ID)
			case !isNew:
				entry.Indexes = append(entry.Indexes, old.Index)
			}
		}
		for _, ix := range rebuilt { // the old indexes were dropped meanwhile
			garbage = append(garbage, ix.Ranges()...)
		}
		ch.Put(&entry)
		return garbage, nil
	})
}

// renamedSpec returns the specification of an index with another name.
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
