package exec

import (
	"context"

	"github.com/sheafdb/sheaf/internal/table"
)

// CountScan scans a single range of an index for the COUNT stage. Its rows have no content.
type CountScan struct {
	entryScan
	dedup bool
}

// NewCountScan returns a count scan over bounds that have no Fields. A nil ix means the _id index.
// dedup makes it count each record once, which a multikey index needs.
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
			// MongoDB counts reading past the end as one examined key.
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

// IsEOF implements Node.
func (n *CountScan) IsEOF() bool { return n.stats.IsEOF }
