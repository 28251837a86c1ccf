package admin

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
)

// databaseTotals sums up the collections of a database.
type databaseTotals struct {
	sizes                       command.Sizes
	free                        command.FreeSizes
	collections, views, indexes int64
}

func runDBStats(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	withFree := req.Int64("freeStorage", 0) != 0
	total, err := totals(ctx, req.Service, req.DB, withFree, req.Conn.Local)
	if err != nil {
		return err
	}
	disk, err := req.Service.Store.Engine().Disk()
	if err != nil {
		return err
	}
	scale := req.Int64("scale", 1)
	scaled := func(name string, n int64) { reply.Double(name, float64(n)/float64(scale)) }
	average := 0.0
	if total.sizes.Count > 0 {
		average = float64(total.sizes.Data) / float64(total.sizes.Count)
	}
	reply.String("db", req.DB)
	reply.Int64("collections", total.collections)
	reply.Int64("views", total.views)
	reply.Int64("objects", total.sizes.Count)
	reply.Double("avgObjSize", average)
	scaled("dataSize", total.sizes.Data)
	scaled("storageSize", total.sizes.Storage)
	if withFree {
		scaled("freeStorageSize", total.free.Data)
	}
	reply.Int64("indexes", total.indexes)
	scaled("indexSize", total.sizes.Indexes)
	if withFree {
		scaled("indexFreeStorageSize", total.free.Indexes)
	}
	scaled("totalSize", total.sizes.Storage+total.sizes.Indexes)
	if withFree {
		scaled("totalFreeStorageSize", total.free.Data+total.free.Indexes)
	}
	reply.Int64("scaleFactor", scale)
	if disk.FileSystem > 0 {
		scaled("fsUsedSize", disk.FileSystemUsed)
		scaled("fsTotalSize", disk.FileSystem)
	}
	return nil
}

// totals sums up the collections of a database, with their free space if withFree is set. local is
// the address that the client has connected to.
func totals(ctx context.Context, s *command.Service, db string, withFree bool, local string) (databaseTotals, error) {
	var total databaseTotals
	for _, e := range s.Entries(db) {
		if e.Kind != catalog.KindCollection && e.Kind != catalog.KindVirtual {
			total.views++
			continue
		}
		c := e.Attached
		sz, err := s.CollectionSizes(ctx, c, local)
		if err != nil {
			return total, err
		}
		total.sizes = total.sizes.Plus(sz)
		total.collections++
		total.indexes += int64(len(c.Indexes)) + 1
		if !withFree {
			continue
		}
		free, err := s.FreeSpace(ctx, c)
		if err != nil {
			return total, err
		}
		total.free.Data += free.Data
		total.free.Indexes += free.Indexes
	}
	return total, nil
}
