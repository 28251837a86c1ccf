package exec

import (
	"bytes"
	"io"

	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

const (
	// singleGets is how many records are read by gets of their own before an iterator takes over. A get costs more than a
	// seek, but less than to open an iterator and a seek; and most queries by an index want one record.
	singleGets = 2
	// keptSeeks is how many records that were sought the engine is offered to keep. A query that reads more of them would push
	// out what others use, and pay for it: the others are kept only where there is room, or in the
	// place of what nobody has asked for again.
	keptSeeks = 256
)

// recordReader reads records of a collection by their keys.
type recordReader struct {
	env    *Env
	coll   *table.Collection
	keeper storage.Keeper // of the env's reader, nil where that keeps nothing
	gets   int
	seeks  int
	closer io.Closer // of the last get
	it     storage.Iterator
}

// read returns a record, borrowed until the next call of release or read, or ErrNotFound.
func (r *recordReader) read(key []byte) ([]byte, error) {
	r.release()
	if r.gets == 0 {
		// The env gets another reader after Save.
		r.keeper, _ = r.env.Reader.(storage.Keeper)
	}
	if r.gets < singleGets {
		r.gets++
		value, closer, err := r.env.Reader.Get(key)
		if err != nil {
			return nil, err
		}
		r.closer = closer
		return value, nil
	}
	if r.keeper != nil {
		if value, ok := r.keeper.Kept(key); ok {
			return value, nil
		}
	}
	return r.seek(key)
}

// seek reads a record with an iterator.
func (r *recordReader) seek(key []byte) ([]byte, error) {
	if r.it == nil {
		prefix := r.coll.RecordPrefix()
		it, err := r.env.Reader.NewIter(prefix, keyspace.PrefixEnd(prefix))
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
	value, err := r.it.Value()
	if err == nil && r.keeper != nil {
		r.seeks++
		r.keeper.Keep(key, value, r.seeks > keptSeeks)
	}
	return value, err
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
