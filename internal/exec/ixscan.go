package exec

import (
	"context"

	"github.com/sheafdb/sheaf/internal/table"
)

// IndexScan is an index scan (IXSCAN): it yields the entries of an index that are in bounds, in key
// order, forward or backward.
type IndexScan struct {
	entryScan
	filter *entryFilter // nil matches every entry
	dedup  bool
	// noRecord leaves RecordKey of the rows empty.
	noRecord bool
}

// IndexScanOptions configure an index scan.
type IndexScanOptions struct {
	Coll *table.Collection
	// Index is the index to scan; nil means the _id index. The rows of the _id index have a
	// document, because its entries are the records.
	Index    *table.Index
	Bounds   *Bounds
	Backward bool
	// Filter is evaluated on a document built from the entry's fields; nil matches every entry.
	Filter table.Predicate
	// FilterPaths lists the index fields that Filter reads.
	FilterPaths []string
	// Dedup makes the scan yield each record once, which a multikey index needs.
	Dedup bool
	// NoRecord leaves RecordKey of the rows empty, for plans that do not need it. Dedup overrides
	// it.
	NoRecord bool
}

// NewIndexScan returns a scan that is positioned before its first entry.
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

// IsEOF implements Node.
func (n *IndexScan) IsEOF() bool { return n.stats.IsEOF }

// nextKey is like Next, but returns only the key of the entry without the index prefix. It does not
// apply the filter or dedup.
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

// fill makes the cursor's current entry the scan's row.
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
