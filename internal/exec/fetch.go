package exec

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// Fetch reads the document of each row that does not have one, and yields the rows that match the
// filter.
type Fetch struct {
	base
	filter  table.Predicate
	records recordReader
	row     Row
}

// NewFetch returns a fetch from a collection. A nil filter matches everything.
func NewFetch(env *Env, coll *table.Collection, in Node, filter table.Predicate) *Fetch {
	return &Fetch{base: base{env: env, inputs: []Node{in}}, filter: filter, records: recordReader{env: env, coll: coll}}
}

// Next implements Node.
func (f *Fetch) Next(ctx context.Context) (*Row, error) {
	for {
		f.records.release()
		row, err := f.inputs[0].Next(ctx)
		if err != nil {
			return nil, err
		}
		if row == nil {
			return f.end()
		}
		ok, err := f.load(ctx, row)
		if err != nil {
			return nil, err
		}
		if ok {
			return f.emit(&f.row)
		}
	}
}

// IsEOF implements Node.
func (f *Fetch) IsEOF() bool { return f.stats.IsEOF || f.inputs[0].IsEOF() }

// load copies row to f.row, reads its document if necessary, and reports whether it matches. A
// record that no longer exists does not match.
func (f *Fetch) load(ctx context.Context, row *Row) (bool, error) {
	f.row = *row
	if row.Doc != nil && row.Index != nil {
		f.stats.AlreadyDoc++
	}
	if row.Doc == nil {
		doc, err := f.records.read(row.RecordKey)
		if errors.Is(err, storage.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if len(doc) >= memory.LargeValue {
			if err := memory.Of(ctx).Value(int64(len(doc))); err != nil {
				return false, err
			}
		}
		f.row.Doc = doc
		if row.Held {
			if ok, err := f.env.matchesWhole(doc); err != nil || !ok {
				return false, err
			}
		}
	}
	f.stats.DocsExamined++
	if f.filter == nil {
		return true, nil
	}
	return f.filter.Match(f.row.Doc)
}

// Save implements Node.
func (f *Fetch) Save() {
	f.base.Save()
	f.records.close()
}

// Close implements Node.
func (f *Fetch) Close() {
	f.records.close()
	f.base.Close()
}
