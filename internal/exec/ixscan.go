package exec

import (
	"context"

	"github.com/sheafdb/sheaf/internal/table"
)

// IndexScan yields the entries of an index that are in bounds, in the order of their keys or
// backward.
type IndexScan struct {
	entryScan
	filter *entryFilter // nil passes everything
	dedup  bool
	// noRecord leaves the rows without record keys.
	noRecord bool
}

// IndexScanOptions are the parts of an index scan.
type IndexScanOptions struct {
	Coll *table.Collection
	// Index is nil for the _id index: its rows carry the record's document, which costs nothing to
	// give.
	Index    *table.Index
	Bounds   *Bounds
	Backward bool
	// Filter is asked on a document made of the entry's fields; nil passes everything.
	Filter table.Predicate
	// FilterPaths are the fields of the index that Filter needs.
	FilterPaths []string
	// Dedup gives each record once; it is needed where the index is multikey.
	Dedup bool
	// NoRecord leaves the rows without record keys, for plans that do not need them.
	NoRecord bool
}

// NewIndexScan returns a scan before its first entry.
func NewIndexScan(env *Env, o IndexScanOptions) *IndexScan {
	n := &IndexScan{dedup: o.Dedup, noRecord: o.NoRecord && !o.Dedup}
	n.env = env
	n.open(o.Coll, o.Index, o.Bounds, o.Backward)
	if o.Filter != nil {
		n.filter = newEntryFilter(o.Filter, o.FilterPaths)
	}
	n.row.Index = o.Index
	return n
}

// Next implements Node.
func (n *IndexScan) Next(ctx context.Context) (*Row, error) {
	if n.stats.IsEOF {
		return nil, nil
	}
	for {
		key, err := n.cursor.next(ctx)
		if err != nil {
			return nil, err
		}
		if key == nil {
			return n.end()
		}
		if err := n.fill(key); err != nil {
			return nil, err
		}
		if n.dedup {
			if fresh, err := n.seen.add(n.env, &n.stats, n.row.RecordKey); err != nil {
				return nil, err
			} else if !fresh {
				continue
			}
		}
		if n.filter != nil {
			ok, err := n.filter.match(&n.row)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
		}
		return n.emit(&n.row)
	}
}

// nextKey is Next for who needs no more of an entry than its key without the index prefix. The scan
// has no filter, and gives no record twice.
func (n *IndexScan) nextKey(ctx context.Context) ([]byte, error) {
	if n.stats.IsEOF {
		return nil, nil
	}
	key, err := n.cursor.next(ctx)
	if err != nil {
		return nil, err
	}
	if key == nil {
		n.stats.IsEOF = true
		return nil, nil
	}
	n.stats.Advanced++
	return key[prefixLen:], nil
}

// fill makes the entry at the cursor the scan's row.
func (n *IndexScan) fill(key []byte) error {
	value, err := n.cursor.it.Value()
	if err != nil {
		return err
	}
	n.row.Key = key[prefixLen:]
	if n.index == nil {
		n.row.RecordKey, n.row.Doc = key, value
		return nil
	}
	n.row.Bits = value
	if n.noRecord {
		return nil
	}
	err = n.readRecordKey(key)
	n.row.RecordKey = n.record
	return err
}
