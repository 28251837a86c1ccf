package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/table"
)

// databaseTotals add up the collections of a database.
type databaseTotals struct {
	sizes                       sizes
	free                        freeSizes
	collections, views, indexes int64
}

func runDBStats(ctx context.Context, req *Request, reply *bsonx.Builder) error {
	withFree := req.Int64("freeStorage", 0) != 0
	total, err := req.Service.totals(ctx, req.DB, withFree, req.Conn.Local)
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
	if total.sizes.count > 0 {
		average = float64(total.sizes.data) / float64(total.sizes.count)
	}
	reply.String("db", req.DB)
	reply.Int64("collections", total.collections)
	reply.Int64("views", total.views)
	reply.Int64("objects", total.sizes.count)
	reply.Double("avgObjSize", average)
	scaled("dataSize", total.sizes.data)
	scaled("storageSize", total.sizes.storage)
	if withFree {
		scaled("freeStorageSize", total.free.data)
	}
	reply.Int64("indexes", total.indexes)
	scaled("indexSize", total.sizes.indexes)
	if withFree {
		scaled("indexFreeStorageSize", total.free.indexes)
	}
	scaled("totalSize", total.sizes.storage+total.sizes.indexes)
	if withFree {
		scaled("totalFreeStorageSize", total.free.data+total.free.indexes)
	}
	reply.Int64("scaleFactor", scale)
	if disk.FileSystem > 0 {
		scaled("fsUsedSize", disk.FileSystemUsed)
		scaled("fsTotalSize", disk.FileSystem)
	}
	return nil
}

// totals adds up a database's collections, with the free space where it is asked for. local is the address by which the client
// reaches the server.
func (s *Service) totals(ctx context.Context, db string, withFree bool, local string) (databaseTotals, error) {
	var total databaseTotals
	for _, e := range s.entries(db) {
		if e.Kind != catalog.KindCollection && e.Kind != catalog.KindVirtual {
			total.views++
			continue
		}
		c := e.Attached.(*table.Collection)
		sz, err := s.collectionSizes(ctx, c, local)
		if err != nil {
			return total, err
		}
		total.sizes = total.sizes.plus(sz)
		total.collections++
		total.indexes += int64(len(c.Indexes)) + 1
		if !withFree {
			continue
		}
		free, err := s.freeSpace(ctx, c)
		if err != nil {
			return total, err
		}
		total.free.data += free.data
		total.free.indexes += free.indexes
	}
	return total, nil
}
