package exec

import (
	"bytes"
	"io"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// singleGets is how many records are read by gets of their own before an iterator takes over. A get costs more than a
// seek, but less than to open an iterator and a seek; and most queries by an index want one record.
const singleGets = 2

// recordReader reads records of a collection by their keys.
type recordReader struct {
	env    *Env
	coll   *table.Collection
	gets   int
	closer io.Closer // of the last get
	it     storage.Iterator
}

// read returns a record, borrowed until the next call of release or read, or ErrNotFound.
func (r *recordReader) read(key []byte) ([]byte, error) {
	r.release()
	if r.gets < singleGets {
		r.gets++
		value, closer, err := r.env.Reader.Get(key)
		if err != nil {
			return nil, err
		}
		r.closer = closer
		return value, nil
	}
	if r.it == nil {
		prefix := r.coll.RecordPrefix()
		it, err := r.env.Reader.NewIter(prefix, table.PrefixEnd(prefix))
		if err != nil {
			return nil, err
		}
		r.it = it
	}
	if !r.it.SeekGE(key) {
		if err := r.it.Err(); err != nil {
			return nil, err
		}
		return nil, storage.ErrNotFound
	}
	if !bytes.Equal(r.it.Key(), key) {
		return nil, storage.ErrNotFound
	}
	return r.it.Value()
}

// release ends the borrow of a record that a get returned.
func (r *recordReader) release() {
	if r.closer != nil {
		_ = r.closer.Close()
		r.closer = nil
	}
}

// close lets go of the reader.
func (r *recordReader) close() {
	r.release()
	r.gets = 0
	if r.it != nil {
		// The iterator's error, if any, was reported by read.
		_ = r.it.Close()
		r.it = nil
	}
}
