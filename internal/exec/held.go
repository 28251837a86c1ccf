package exec

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
)

// A node that has rows in hand when the tree is saved may give them out under a later reader. Meanwhile a
// write may have moved a record out of the query, or deleted it. Such a row is held: before it goes up it
// is looked at again. A Sort's rows are no such rows: they are the documents as they were when it read them.

// heldRows looks again at rows that were held.
type heldRows struct {
	records recordReader
	entry   []byte // key
}

// hasEntry reports whether the index entry of a row is still there, and gives the row, whose bytes belong
// to the caller, the type bits of now. Rows that come from no index have none to lose.
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

// look reports whether the index entry and the record of a row are still in the query. It returns the
// document of now if the row has one, borrowed until the next call or Save.
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

// heldRow is the input of the nodes that shape a held row anew. It gives the row without a document.
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
