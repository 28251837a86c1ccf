package table

import (
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/storage"
)

// DiskUsage measures the disk space of a collection's records.
func (c *Collection) DiskUsage(engine storage.Engine) (storage.Usage, error) {
	p := c.RecordPrefix()
	return engine.DiskUsage(p, keyspace.PrefixEnd(p))
}

// DiskUsage measures the disk space of an index.
func (ix *Index) DiskUsage(engine storage.Engine) (storage.Usage, error) {
	p := ix.Prefix()
	return engine.DiskUsage(p, keyspace.PrefixEnd(p))
}

// FreeSpace estimates the disk space in bytes that deleted and replaced documents of a collection
// still take. It compares the values in the engine with the collection's counter.
func (c *Collection) FreeSpace(engine storage.Engine) (int64, error) {
	live, err := engine.Counter(c.shared.counter)
	if err != nil {
		return 0, err
	}
	p := c.RecordPrefix()
	all, err := engine.Contents(p, keyspace.PrefixEnd(p))
	if err != nil {
		return 0, err
	}
	dead := all.ValueBytes - live.Bytes
	if dead <= 0 {
		return 0, nil
	}
	return int64(float64(all.Usage.Total()) * float64(dead) / float64(all.ValueBytes)), nil
}

// FreeSpace estimates the disk space in bytes that removed entries of an index still take. An entry
// is put once and deleted once, so each tombstone in the tables corresponds to one dead entry.
func (ix *Index) FreeSpace(engine storage.Engine) (int64, error) {
	p := ix.Prefix()
	all, err := engine.Contents(p, keyspace.PrefixEnd(p))
	if err != nil || all.Entries == 0 {
		return 0, err
	}
	dead := min(2*all.Deletions, all.Entries)
	return int64(float64(all.Usage.Tables) * float64(dead) / float64(all.Entries)), nil
}
