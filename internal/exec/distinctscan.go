package exec

import (
	"context"

	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/table"
)

// DistinctScan yields one entry for each distinct value of an index's leading fields. It seeks past
// the other entries with the same value.
type DistinctScan struct {
	entryScan
	fields int
	filter *entryFilter // nil matches every entry
	skip   []byte
}

// DistinctScanOptions configure a distinct scan.
type DistinctScanOptions struct {
	Coll     *table.Collection
	Index    *table.Index // not nil
	Bounds   *Bounds
	Backward bool
	// Filter is evaluated on a document built from the fields of an entry; nil matches every entry.
	// For each value, the scan yields the first entry that matches.
	Filter table.Predicate
	// FilterPaths lists the index fields that Filter reads.
	FilterPaths []string
	// Fields is the number of leading index fields that make up the value.
	Fields int
}

// NewDistinctScan returns a scan that is positioned before its first entry.
func NewDistinctScan(env *Env, o DistinctScanOptions) *DistinctScan {
	n := &DistinctScan{fields: o.Fields}
	n.env = env
	n.open(o.Coll, o.Index, o.Bounds, o.Backward)
	n.row.Index = o.Index
	if o.Filter != nil {
		n.filter = newEntryFilter(o.Filter, o.FilterPaths)
	}
	return n
}

// Next implements Node.
func (n *DistinctScan) Next(ctx context.Context) (*Row, error) {
	if n.stats.IsEOF {
		return nil, nil
	}
	found, err := n.advance(ctx)
	if err != nil {
		return nil, err
	}
	if !found {
		return n.end()
	}
	key := n.cursor.it.Key()
	if err := n.readRecordKey(key); err != nil {
		return nil, err
	}
	n.row.RecordKey = n.record
	if err := n.skipValue(); err != nil {
		return nil, err
	}
	return n.emit(&n.row)
}

// IsEOF implements Node.
func (n *DistinctScan) IsEOF() bool { return n.stats.IsEOF }

// advance moves to the next entry that matches the filter. It returns false at the end.
func (n *DistinctScan) advance(ctx context.Context) (bool, error) {
	for {
		key, err := n.cursor.next(ctx)
		if err != nil || key == nil {
			return false, err
		}
		n.row.Key = key[prefixLen:]
		if n.row.Bits, err = n.cursor.it.Value(); err != nil || n.filter == nil {
			return true, err
		}
		if ok, err := n.filter.match(&n.row); ok || err != nil {
			return true, err
		}
	}
}

// skipValue makes the cursor's next call of next seek past all entries with the current value.
func (n *DistinctScan) skipValue() error {
	end := 0
	for _, f := range n.index.Pattern[:n.fields] {
		size, err := keystring.Skip(n.row.Key[end:], f.Desc)
		if err != nil {
			return err
		}
		end += size
	}
	n.skip = append(n.skip[:0], n.row.Key[:end]...)
	if !n.cursor.backward {
		n.skip = append(n.skip, 0xFF)
	}
	n.cursor.seek(n.skip)
	return nil
}

// Fields returns the number of leading index fields that make up the value.
func (n *DistinctScan) Fields() int { return n.fields }

// Stay cancels the seek to the next value: the next row is the next entry, even if it has the same
// value as the last row.
func (n *DistinctScan) Stay() { n.cursor.seekKey = n.cursor.seekKey[:0] }
