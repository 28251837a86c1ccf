package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// Sizes are the number of documents of a collection and its sizes in bytes. Data is the size of the
// documents; Storage and Indexes are space on disk.
type Sizes struct {
	Count, Data, Storage, Indexes int64
	IDIndex                       storage.Usage
	PerIndex                      []storage.Usage // in the order of Collection.Indexes
}

// Plus returns the sums of s and t, without the sizes of single indexes.
func (s Sizes) Plus(t Sizes) Sizes {
	return Sizes{
		Count: s.Count + t.Count, Data: s.Data + t.Data, Storage: s.Storage + t.Storage, Indexes: s.Indexes + t.Indexes,
	}
}

// CollectionSizes measures a collection. The sizes of a view are 0. local is the address that the
// client has connected to.
func (s *Service) CollectionSizes(ctx context.Context, c *table.Collection, local string) (Sizes, error) {
	if err := interrupt.Cause(ctx); err != nil {
		return Sizes{}, err
	}
	if read.IsVirtual(c) {
		return s.VirtualSizes(c, local)
	}
	if c == nil || c.Kind != catalog.KindCollection {
		return Sizes{}, nil
	}
	counter, err := s.Store.Count(c)
	if err != nil {
		return Sizes{}, err
	}
	out := Sizes{Count: counter.Count, Data: counter.Bytes}
	records, err := c.DiskUsage(s.Store.Engine())
	if err != nil {
		return Sizes{}, err
	}
	out.Storage = records.Total()
	if c.IDIndex != nil {
		if out.IDIndex, err = c.IDIndex.DiskUsage(s.Store.Engine()); err != nil {
			return Sizes{}, err
		}
		out.Indexes += out.IDIndex.Total()
	}
	for _, ix := range c.Indexes {
		if err := interrupt.Cause(ctx); err != nil {
			return Sizes{}, err
		}
		u, err := ix.DiskUsage(s.Store.Engine())
		if err != nil {
			return Sizes{}, err
		}
		out.Indexes += u.Total()
		out.PerIndex = append(out.PerIndex, u)
	}
	return out, nil
}

// FreeSizes are the bytes of deleted and replaced documents and index entries that are still on
// disk.
type FreeSizes struct{ Data, Indexes int64 }

// FreeSpace estimates the bytes that a compaction of a collection would free.
func (s *Service) FreeSpace(ctx context.Context, c *table.Collection) (free FreeSizes, err error) {
	if c == nil || c.Kind != catalog.KindCollection {
		return FreeSizes{}, nil
	}
	if free.Data, err = c.FreeSpace(s.Store.Engine()); err != nil {
		return FreeSizes{}, err
	}
	indexes := c.Indexes
	if c.IDIndex != nil {
		indexes = append(indexes[:len(indexes):len(indexes)], c.IDIndex)
	}
	for _, ix := range indexes {
		if err := interrupt.Cause(ctx); err != nil {
			return FreeSizes{}, err
		}
		n, err := ix.FreeSpace(s.Store.Engine())
		if err != nil {
			return FreeSizes{}, err
		}
		free.Indexes += n
	}
	return free, nil
}

// DatabaseSize returns the bytes on disk of a database's collections and indexes.
func (s *Service) DatabaseSize(ctx context.Context, db string) (int64, error) {
	total := int64(0)
	for _, v := range s.Virtual {
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
		sizes, err := s.CollectionSizes(ctx, s.Store.Lookup(db, e.Name), "")
		if err != nil {
			return 0, err
		}
		total += sizes.Storage + sizes.Indexes
	}
	return total, nil
}
