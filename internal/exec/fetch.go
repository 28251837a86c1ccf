package exec

import (
	"context"
	"errors"
	"io"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// Fetch reads the record of each row that has none yet, and passes those that match.
type Fetch struct {
	base
	filter table.Predicate
	closer io.Closer
	row    Row
}

// NewFetch returns a fetch; a nil filter passes everything.
func NewFetch(env *Env, in Node, filter table.Predicate) *Fetch {
	return &Fetch{base: base{env: env, inputs: []Node{in}}, filter: filter}
}

// Next implements Node.
func (f *Fetch) Next(ctx context.Context) (*Row, error) {
	for {
		f.release()
		row, err := f.inputs[0].Next(ctx)
		if err != nil {
			return nil, err
		}
		if row == nil {
			return f.end()
		}
		ok, err := f.load(row)
		if err != nil {
			return nil, err
		}
		if ok {
			return f.emit(&f.row)
		}
	}
}

// load makes row, with its document, the fetch's row and reports whether it matches. A record that is gone counts as
// not matching: the entry was merged or held back under an older reader.
func (f *Fetch) load(row *Row) (bool, error) {
	f.row = *row
	if row.Doc != nil && row.Index != nil {
		f.stats.AlreadyDoc++
	}
	if row.Doc == nil {
		doc, closer, err := f.env.Reader.Get(row.RecordKey)
		if errors.Is(err, storage.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		f.row.Doc, f.closer = doc, closer
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
	f.release()
}

// Close implements Node.
func (f *Fetch) Close() {
	f.release()
	f.base.Close()
}

func (f *Fetch) release() {
	if f.closer != nil {
		_ = f.closer.Close()
		f.closer = nil
	}
}
