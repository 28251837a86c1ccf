package pebble

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Each record of the manifest is an edit: a list of fields, each with a tag before it. The numbers
// are Pebble's.
const (
	editComparator     = 1
	editLogNumber      = 2
	editNextFile       = 3
	editLastSequence   = 4
	editCompactPointer = 5
	editDeletedTable   = 6
	editNewTable       = 7
	editPreviousLog    = 9
	editNewTable2      = 100
	editNewTable3      = 102
	editNewTable4      = 103
	editNewTable5      = 104
	editCreatedBacking = 105
	editRemovedBacking = 106
	editNewBlob        = 107
	editDeletedBlob    = 108

	tableEnd            = 1
	tableVirtual        = 66
	tableBlobReferences = 69
)

// edit holds the fields of an edit that this package needs.
type edit struct {
	// logNumber is the first log whose data is not in tables yet, or 0 if the edit does not change
	// it.
	logNumber uint64
}

// editReader reads the fields of an edit. It keeps the first error.
type editReader struct {
	*bytes.Reader
	err error
}

// number reads a number.
func (r *editReader) number() uint64 {
	if r.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(r)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	r.err = err
	return n
}

// numbers skips count numbers.
func (r *editReader) numbers(count int) {
	for range count {
		r.number()
	}
}

// text skips a byte string with its length.
func (r *editReader) text() {
	n := r.number()
	if r.err == nil && n > uint64(r.Len()) {
		r.err = io.ErrUnexpectedEOF
	}
	if r.err == nil {
		_, r.err = r.Seek(int64(n), io.SeekCurrent)
	}
}

// readEdit decodes an edit.
func readEdit(record []byte) (e edit, err error) {
	r := &editReader{Reader: bytes.NewReader(record)}
	for r.Len() > 0 && r.err == nil {
		switch tag := r.number(); tag {
		case editLogNumber:
			e.logNumber = r.number()
		case editComparator:
			r.text()
		case editNextFile, editLastSequence, editPreviousLog, editRemovedBacking:
			r.number()
		case editDeletedTable, editCreatedBacking, editDeletedBlob:
			r.numbers(2)
		case editNewBlob:
			r.numbers(5)
		case editCompactPointer:
			r.number()
			r.text()
		case editNewTable, editNewTable2, editNewTable3, editNewTable4, editNewTable5:
			r.newTable(tag)
		default:
			return e, fmt.Errorf("an edit has the unknown field %d", tag)
		}
	}
	return e, r.err
}

// newTable skips a table: level, number, size, bounds, sequence numbers, and more.
func (r *editReader) newTable(tag uint64) {
	r.numbers(2)
	if tag == editNewTable3 {
		r.number()
	}
	r.number()
	texts := 2
	if tag == editNewTable5 {
		// The number is a set of flags. The first bit means that a table has separate bounds for
		// point keys before its bounds for range keys.
		if r.number()&1 != 0 {
			texts = 4
		}
	}
	for range texts {
		r.text()
	}
	if tag != editNewTable {
		r.numbers(2)
	}
	if tag != editNewTable4 && tag != editNewTable5 {
		return
	}
	for r.err == nil {
		switch r.number() {
		case tableEnd:
			return
		case tableVirtual:
			r.number()
		case tableBlobReferences:
			r.number()
			r.numbers(2 * int(min(r.number(), uint64(r.Len()))))
		default:
			r.text()
		}
	}
}
