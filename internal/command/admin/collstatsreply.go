package admin

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// appendStorageStats appends the fields of collStats. It divides the sizes by scale. c may be nil.
// local is the address that the client has connected to.
func appendStorageStats(ctx context.Context, s *command.Service, reply *bsonx.Builder, c *table.Collection,
	scale int64, local string,
) error {
	sz, err := s.CollectionSizes(ctx, c, local)
	if err != nil {
		return err
	}
	command.AppendNumber(reply, "size", sz.Data/scale)
	if c != nil && c.Timeseries != nil {
		appendSeriesStats(reply, c, sz)
	} else {
		command.AppendNumber(reply, "count", sz.Count)
		if sz.Count > 0 {
			command.AppendNumber(reply, "avgObjSize", sz.Data/sz.Count)
		}
	}
	reply.Int32("numOrphanDocs", 0)
	command.AppendNumber(reply, "storageSize", sz.Storage/scale)
	free, err := s.FreeSpace(ctx, c)
	if err != nil {
		return err
	}
	command.AppendNumber(reply, "freeStorageSize", free.Data/scale)
	appendCappedStats(reply, c, scale)
	appendIndexStats(reply, c, sz, scale)
	reply.Int32("scaleFactor", int32(scale))
	return nil
}

// appendSeriesStats appends the number and average size of a time series' buckets. Its measurements
// are not counted.
func appendSeriesStats(reply *bsonx.Builder, c *table.Collection, sz command.Sizes) {
	reply.StartDocField("timeseries")
	reply.String("bucketsNs", c.Namespace())
	command.AppendNumber(reply, "bucketCount", sz.Count)
	if sz.Count > 0 {
		command.AppendNumber(reply, "avgBucketSize", sz.Data/sz.Count)
	}
	reply.End()
}

func appendCappedStats(reply *bsonx.Builder, c *table.Collection, scale int64) {
	capped := c != nil && c.Capped != nil
	reply.Bool("capped", capped)
	if capped {
		command.AppendNumber(reply, "max", c.Capped.Max)
		command.AppendNumber(reply, "maxSize", c.Capped.Size/scale)
	}
}

func appendIndexStats(reply *bsonx.Builder, c *table.Collection, sz command.Sizes, scale int64) {
	var indexes []*table.Index
	if c != nil {
		indexes = c.Indexes
	}
	n := len(indexes)
	if c != nil {
		n++
	}
	reply.Int32("nindexes", int32(n))
	reply.StartArrayField("indexBuilds")
	for _, ix := range indexes {
		if !ix.Ready {
			reply.Elem(bsonx.String(ix.Name))
		}
	}
	reply.End()
	command.AppendNumber(reply, "totalIndexSize", sz.Indexes/scale)
	command.AppendNumber(reply, "totalSize", (sz.Storage+sz.Indexes)/scale)
	reply.StartDocField("indexSizes")
	if c != nil {
		command.AppendNumber(reply, "_id_", sz.IDIndex.Total()/scale) // 0 if the records are clustered by _id
	}
	for i, ix := range indexes {
		command.AppendNumber(reply, ix.Name, sz.PerIndex[i].Total()/scale)
	}
	reply.End()
	reply.StartDocField("indexDetails")
	if c != nil {
		appendIndexDetails(reply, "_id_", c.IDUses(), sz.IDIndex)
	}
	for i, ix := range indexes {
		appendIndexDetails(reply, ix.Name, ix.Uses(), sz.PerIndex[i])
	}
	reply.End()
}

// appendIndexDetails appends the size in bytes of an index, in tables and in memory, and how often
// plans have used it.
func appendIndexDetails(b *bsonx.Builder, name string, uses *table.Uses, u storage.Usage) {
	b.StartDocField(name)
	b.Int64("tableBytes", u.Tables)
	b.Int64("unflushedBytes", u.Unflushed)
	n, _ := uses.Count()
	b.Int64("accesses", n)
	b.End()
}
