package exec

import (
	"context"

	"github.com/sheafdb/sheaf/internal/table"
)

// CountScan walks a single range of an index for COUNT: its rows carry nothing.
type CountScan struct {
	base
	coll   *table.Collection
	index  *table.Index
	dedup  bool
	cursor entryCursor
	seen   seen
	record []byte
	row    Row
}

// NewCountScan returns a count scan over bounds without Fields; ix is nil for the _id index. dedup counts each record
// once; it is needed where the index is multikey.
func NewCountScan(env *Env, coll *table.Collection, ix *table.Index, b *Bounds, dedup bool) *CountScan {
	n := &CountScan{base: base{env: env}, coll: coll, index: ix, dedup: dedup && ix != nil}
	n.cursor = newEntryCursor(env, coll, ix, b, false)
	n.cursor.stats = &n.stats
	n.seen.single = b.Single
	return n
}

// Next implements Node.
func (n *CountScan) Next(ctx context.Context) (*Row, error) {
	if n.stats.IsEOF {
		return nil, nil
	}
	for {
		key, err := n.cursor.next(ctx)
		if err != nil {
			return nil, err
		}
		if key == nil {
			// MongoDB counts the look behind the end as a key.
			n.stats.KeysExamined++
			return n.end()
		}
		if n.dedup {
			if n.record, err = n.coll.RecordKeyOfEntry(n.record[:0], n.index, key); err != nil {
				return nil, err
			}
			if fresh, err := n.seen.add(n.env, &n.stats, n.record); err != nil {
				return nil, err
			} else if !fresh {
				continue
			}
		}
		return n.emit(&n.row)
	}
}

// Save implements Node.
func (n *CountScan) Save() {
	n.base.Save()
	n.cursor.save(n.stats.IsEOF)
}

// Close implements Node.
func (n *CountScan) Close() {
	n.cursor.close()
	n.seen.close()
}
