package exec

import "github.com/sheafdb/sheaf/internal/table"

// entryScan is the part that all index scans have in common. It is meant to be embedded.
type entryScan struct {
	base
	coll   *table.Collection
	index  *table.Index // nil means the _id index
	cursor entryCursor
	seen   seen
	record []byte
	row    Row
}

// open positions the scan before the first entry in bounds.
func (n *entryScan) open(coll *table.Collection, ix *table.Index, b *Bounds, backward bool) {
	n.coll, n.index = coll, ix
	n.cursor = newEntryCursor(n.env, coll, ix, b, backward)
	n.cursor.stats = &n.stats
	n.seen.single = b.Single
}

// readRecordKey sets n.record to the key of the record that an index entry belongs to. key is the
// entry's whole key.
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
