package exec

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
)

// heldRows checks rows that were held. A node may have pulled rows when the tree is saved, and
// yield them under a later reader. Such a row is held: a write may have deleted the record
// meanwhile, or changed it so that it no longer matches. A held row is checked before it is
// yielded. The rows of a Sort of documents do not count as held: they stay as the sort has read
// them.
type heldRows struct {
	records recordReader
	entry   []byte // buffer for the key of an index entry
}

// hasEntry reports whether the index entry of a row still exists. It replaces the row's type bits
// by the current ones; the row must own its memory. A row that does not come from an index always
// has its entry.
func (h *heldRows) hasEntry(row *Row) (bool, error) {
	if row.Index == nil || row.Key == nil {
		return true, nil
	}
	h.entry = append(append(h.entry[:0], row.Index.Prefix()...), row.Key...)
	bits, closer, err := h.records.env.Reader.Get(h.entry)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	row.Bits = append(row.Bits[:0], bits...)
	return true, closer.Close()
}

// look reports whether the index entry of a row still exists. If the row has a document, look also
// checks that the record still matches the query, and returns the current document, borrowed until
// the next call or Save.
func (h *heldRows) look(row *Row) (doc bsonx.Doc, ok bool, err error) {
	if ok, err := h.hasEntry(row); err != nil || !ok {
		return nil, false, err
	}
	if row.Doc == nil {
		return nil, true, nil
	}
	doc, err = h.records.read(row.RecordKey)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	ok, err = h.records.env.matchesWhole(doc)
	return doc, ok, err
}

// heldRow is the input of the nodes that shape a held row again. It yields the row once, without
// its document.
type heldRow struct {
	base
	rows heldRows
	row  *Row
}

// Next implements Node.
func (n *heldRow) Next(context.Context) (*Row, error) {
	row := n.row
	if row != nil {
		n.row, row.Doc = nil, nil
	}
	return row, nil
}

// IsEOF implements Node.
func (n *heldRow) IsEOF() bool { return n.stats.IsEOF }
