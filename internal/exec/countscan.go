package exec

import (
	"context"

	"github.com/sheafdb/sheaf/internal/table"
)

// CountScan walks a single range of an index for COUNT: its rows carry nothing.
type CountScan struct {
	entryScan
	dedup bool
}

// NewCountScan returns a count scan over bounds without Fields; ix is nil for the _id index. dedup
// counts each record once; it is needed where the index is multikey.
func NewCountScan(env *Env, coll *table.Collection, ix *table.Index, b *Bounds, dedup bool) *CountScan {
	n := &CountScan{dedup: dedup && ix != nil}
	n.env = env
	n.open(coll, ix, b, false)
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
			if err := n.readRecordKey(key); err != nil {
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
