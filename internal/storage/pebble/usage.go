package pebble

import (
	"bytes"
	"path"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/storage"
)

// Pebble measures a range in whole blocks. Neighbouring ranges share the blocks at the ends of a
// range.
const (
	// smallUsage is the size in tables up to which a range is measured by reading it. Otherwise
	// each of ten thousand small collections would count a whole block.
	smallUsage = 8 * dataBlock
	// roundedUsage is the size up to which shared blocks are subtracted.
	roundedUsage = 256 * dataBlock
	// sharedBlocks is the approximate size of the blocks that a range shares with its neighbours in
	// one table.
	sharedBlocks = 2 * dataBlock
)

// DiskUsage implements storage.Engine.
func (e *Engine) DiskUsage(start, end []byte) (storage.Usage, error) {
	p, ok := e.pins.acquire()
	if !ok {
		return storage.Usage{}, storage.ErrClosed
	}
	defer e.pins.release(p)
	e.trimUnflushed()
	m := measurement{engine: e, start: start, end: end}
	u, err := m.usage()
	return u, e.wrap(err)
}

// Contents implements storage.Engine. It reads the properties of every table in the range.
func (e *Engine) Contents(start, end []byte) (storage.Contents, error) {
	p, ok := e.pins.acquire()
	if !ok {
		return storage.Contents{}, storage.ErrClosed
	}
	defer e.pins.release(p)
	e.trimUnflushed()
	m := measurement{engine: e, start: start, end: end}
	u, err := m.usage()
	if err != nil {
		return storage.Contents{}, e.wrap(err)
	}
	c := storage.Contents{Usage: u}
	_, c.ValueBytes = e.unflushed.usage(start, end)
	counts, err := m.countTables()
	if err != nil {
		return storage.Contents{}, e.wrap(err)
	}
	c.Entries, c.Deletions = counts.entries, counts.deletions
	c.ValueBytes += counts.valueBytes
	return c, nil
}

// measurement measures one range. The caller has a pin. The methods return Pebble's errors
// unchanged.
type measurement struct {
	engine     *Engine
	start, end []byte
	// counts is valid once counted is true.
	counts  tableCounts
	counted bool
}

// tableCounts are the entry counts from the properties of tables.
type tableCounts struct {
	entries, deletions, valueBytes int64
	// shared is half of the size of the blocks that contain an end of the range with keys on both
	// sides of it.
	shared int64
}

func (m *measurement) usage() (storage.Usage, error) {
	n, err := m.engine.db.EstimateDiskUsage(m.start, m.end)
	if err != nil {
		return storage.Usage{}, err
	}
	var u storage.Usage
	u.Unflushed, _ = m.engine.unflushed.usage(m.start, m.end)
	u.Tables, err = m.tableBytes(int64(n))
	return u, err
}

// tableBytes corrects n, the size of the range that Pebble reports. Pebble counts the blocks at
// both ends of the range completely in each table, but neighbouring ranges share them.
func (m *measurement) tableBytes(n int64) (int64, error) {
	if n == 0 || n > roundedUsage {
		return n, nil
	}
	read := n
	if n <= smallUsage {
		var err error
		if read, err = m.flushedBytes(); err != nil || n-read <= sharedBlocks {
			return min(n, read), err
		}
	}
	c, err := m.countTables()
	if err != nil {
		return 0, err
	}
	n -= min(c.shared, n)
	if read >= n || c.entries == 0 {
		return n, nil
	}
	// Data that reading did not find was deleted, as far as the tables have deletions. A deletion
	// and the deleted key are two entries.
	return read + (n-read)*min(2*c.deletions, c.entries)/c.entries, nil
}

// flushedBytes adds up the keys and values of a range that are in tables.
func (m *measurement) flushedBytes() (int64, error) {
	it, err := m.engine.db.NewIter(&pebble.IterOptions{
		LowerBound: m.start, UpperBound: m.end, OnlyReadGuaranteedDurable: true,
	})
	if err != nil {
		return 0, err
	}
	n := int64(0)
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			_ = it.Close()
			return 0, err
		}
		n += int64(len(it.Key()) + len(value))
	}
	return n, it.Close()
}

// countTables reads the properties of the tables in a range, once, and takes the fraction of each
// table that is in the range.
func (m *measurement) countTables() (tableCounts, error) {
	if m.counted {
		return m.counts, nil
	}
	levels, err := m.engine.db.SSTables(pebble.WithProperties(), pebble.WithKeyRangeFilter(m.start, m.end),
		pebble.WithApproximateSpanBytes())
	if err != nil {
		return tableCounts{}, err
	}
	c := &m.counts
	for _, tables := range levels {
		for i := range tables {
			t := &tables[i]
			share := float64(t.ApproximateSpanBytes) / float64(max(t.Size, 1))
			c.entries += int64(share * float64(t.Properties.NumEntries))
			c.deletions += int64(share * float64(t.Properties.NumDeletions))
			c.valueBytes += int64(share * float64(t.Properties.RawValueSize))
			half := int64(t.Properties.DataSize / max(t.Properties.NumDataBlocks, 1) / 2)
			if bytes.Compare(t.Smallest.UserKey, m.start) < 0 {
				c.shared += half
			}
			if bytes.Compare(t.Largest.UserKey, m.end) >= 0 {
				c.shared += half
			}
		}
	}
	m.counted = true
	return *c, nil
}

// trimUnflushed drops the counts of flushed memtables. The caller holds a pin.
func (e *Engine) trimUnflushed() { e.unflushed.keep(int(e.db.Metrics().MemTable.Count)) }

// Disk implements storage.Engine. It reads the size of every file in the directory.
func (e *Engine) Disk() (storage.Disk, error) {
	p, ok := e.pins.acquire()
	if !ok {
		return storage.Disk{}, storage.ErrClosed
	}
	defer e.pins.release(p)
	names, err := e.options.FS.List(e.dir)
	if err != nil {
		return storage.Disk{}, e.wrap(err)
	}
	var d storage.Disk
	var tables, logs int64
	for _, name := range names {
		info, err := e.options.FS.Stat(e.options.FS.PathJoin(e.dir, name))
		if err != nil {
			continue // removed meanwhile
		}
		n := allocated(info)
		d.Total += n
		switch path.Ext(name) {
		case ".sst":
			tables += n
		case ".log":
			logs += n
		default:
			d.Other += n
		}
	}
	e.trimUnflushed()
	m := e.db.Metrics()
	// The data of a dropped collection stays in tables until a compaction.
	dropped := int64(m.Table.Garbage.RangeDeletionsBytesEstimate) + e.unflushed.dropped()
	d.Tables = max(min(tables, int64(m.Table.Local.LiveSize))-dropped, 0)
	d.Log = min(logs, int64(m.WAL.Size))
	d.Free = tables - d.Tables + logs - d.Log
	if u, err := e.options.FS.GetDiskUsage(e.dir); err == nil {
		d.FileSystem, d.FileSystemUsed = int64(u.TotalBytes), int64(u.UsedBytes)
	}
	return d, nil
}
