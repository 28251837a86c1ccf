package exec

import (
	"bytes"
	"io"

	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

const (
	// singleGets is the number of records that are read by single gets before an iterator is
	// opened. A get costs more than a seek, but less than opening an iterator and a seek. Most
	// queries that use an index read one record.
	singleGets = 2
	// keptSeeks is the number of records that one recordReader puts into the engine's record cache
	// in any case. It puts further records there only in free space, or in place of records that
	// were not requested again. Otherwise a large query would evict the records of other queries.
	keptSeeks = 256
)

// recordReader reads records of a collection by their keys.
type recordReader struct {
	env    *Env
	coll   *table.Collection
	keeper storage.Keeper // the env's reader, or nil if it does not cache records
	gets   int
	seeks  int
	closer io.Closer // of the last get; may be nil
	it     storage.Iterator
}

// read returns a record, borrowed until the next call of release or read. It fails with ErrNotFound
// if the record does not exist.
func (r *recordReader) read(key []byte) ([]byte, error) {
	r.release()
	if r.gets == 0 {
		// After Save the env has another reader.
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

// release ends the borrow of the record that the last get returned.
func (r *recordReader) release() {
	if r.closer != nil {
		_ = r.closer.Close()
		r.closer = nil
	}
}

// close releases everything taken from the reader. The recordReader can be used again.
func (r *recordReader) close() {
	r.release()
	r.gets = 0
	if r.it != nil {
		// read has already reported the iterator's error.
		_ = r.it.Close()
		r.it = nil
	}
}
