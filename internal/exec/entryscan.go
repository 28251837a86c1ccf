package exec

import "github.com/sheafdb/sheaf/internal/table"

// entryScan is what the scans of an index embed: the entries that they are at, the records that
// they have given, and their row.
type entryScan struct {
	base
	coll   *table.Collection
	index  *table.Index // nil for the _id index
	cursor entryCursor
	seen   seen
	record []byte
	row    Row
}

// open puts the scan before the first entry in bounds.
func (n *entryScan) open(coll *table.Collection, ix *table.Index, b *Bounds, backward bool) {
	n.coll, n.index = coll, ix
	n.cursor = newEntryCursor(n.env, coll, ix, b, backward)
	n.cursor.stats = &n.stats
	n.seen.single = b.Single
}

// readRecordKey reads which record the entry with that key belongs to.
func (n *entryScan) readRecordKey(key []byte) (err error) {
	n.record, err = n.coll.RecordKeyOfEntry(n.record[:0], n.index, key)
	return err
}

func (n *entryScan) usedIndex() *table.Index { return n.index }

// Save implements Node.
func (n *entryScan) Save() {
	n.base.Save()
	n.cursor.save(n.stats.IsEOF)
}

// Close implements Node.
func (n *entryScan) Close() {
	n.cursor.close()
	n.seen.close()
}
