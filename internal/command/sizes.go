package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// sizes are what a collection holds and takes, in bytes.
type sizes struct {
	count, data, storage, indexes int64
	idIndex                       storage.Usage
	perIndex                      []storage.Usage // of collection.Indexes
}

// plus returns the sums without those of single indexes.
func (s sizes) plus(t sizes) sizes {
	return sizes{
		count: s.count + t.count, data: s.data + t.data, storage: s.storage + t.storage, indexes: s.indexes + t.indexes,
	}
}

// collectionSizes measures a collection; a view has no sizes. local is the address by which the client reaches the server.
func (s *Service) collectionSizes(ctx context.Context, c *table.Collection, local string) (sizes, error) {
	if err := interrupt.Cause(ctx); err != nil {
		return sizes{}, err
	}
	if isVirtual(c) {
		return s.virtualSizes(c, local)
	}
	if c == nil || c.Kind != catalog.KindCollection {
		return sizes{}, nil
	}
	counter, err := s.Store.Count(c)
	if err != nil {
		return sizes{}, err
	}
	out := sizes{count: counter.Count, data: counter.Bytes}
	records, err := s.Store.DiskUsage(c)
	if err != nil {
		return sizes{}, err
	}
	out.storage = records.Total()
	if c.IDIndex != nil {
		if out.idIndex, err = s.Store.IndexDiskUsage(c.IDIndex); err != nil {
			return sizes{}, err
		}
		out.indexes += out.idIndex.Total()
	}
	for _, ix := range c.Indexes {
		if err := interrupt.Cause(ctx); err != nil {
			return sizes{}, err
		}
		u, err := s.Store.IndexDiskUsage(ix)
		if err != nil {
			return sizes{}, err
		}
		out.indexes += u.Total()
		out.perIndex = append(out.perIndex, u)
	}
	return out, nil
}

// freeSizes are what deleted and replaced documents and their index entries still take, in bytes.
type freeSizes struct{ data, indexes int64 }

// freeSpace measures what of a collection's space would be free after a compaction.
func (s *Service) freeSpace(ctx context.Context, c *table.Collection) (free freeSizes, err error) {
	if c == nil || c.Kind != catalog.KindCollection {
		return freeSizes{}, nil
	}
	if free.data, err = s.Store.FreeSpace(c); err != nil {
		return freeSizes{}, err
	}
	indexes := c.Indexes
	if c.IDIndex != nil {
		indexes = append(indexes[:len(indexes):len(indexes)], c.IDIndex)
	}
	for _, ix := range indexes {
		if err := interrupt.Cause(ctx); err != nil {
			return freeSizes{}, err
		}
		n, err := s.Store.IndexFreeSpace(ix)
		if err != nil {
			return freeSizes{}, err
		}
		free.indexes += n
	}
	return free, nil
}

// databaseSize measures the space of a database: its collections and their indexes.
func (s *Service) databaseSize(ctx context.Context, db string) (int64, error) {
	total := int64(0)
	for _, v := range s.virtual {
		if v.db != db {
			continue
		}
		n, err := s.virtualSpace(v)
		if err != nil {
			return 0, err
		}
		total += n
	}
	for _, e := range s.Store.Catalog().Collections(db) {
		sizes, err := s.collectionSizes(ctx, s.Store.Lookup(db, e.Name), "")
		if err != nil {
			return 0, err
		}
		total += sizes.storage + sizes.indexes
	}
	return total, nil
}
