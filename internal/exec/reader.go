package exec

import (
	"io"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// Reader is a storage.Reader over a View. It takes a snapshot of the newest state as late as
// possible: a single get needs no snapshot. The first iterator, or Pin, takes the snapshot, and all
// later reads use it. A fixed View needs no snapshot.
type Reader struct {
	view   table.View
	pinned table.Pinned // zero value before Pin
}

// NewReader returns a reader that has not taken a snapshot. If only one goroutine may use the View,
// the same holds for the reader.
func NewReader(view table.View) *Reader { return &Reader{view: view} }

// Pin takes the snapshot now. The multikey paths of an index are valid only for snapshots taken
// before the paths were read, so plans are made after Pin.
func (r *Reader) Pin() {
	if !r.Pinned() {
		r.pinned = r.view.Pin()
	}
}

// Visible returns the newest stamp up to which the reader sees every stamped record. It may see
// some records with later stamps.
func (r *Reader) Visible() storage.Stamp {
	r.Pin()
	return r.pinned.Visible
}

// Pinned reports whether the snapshot has been taken.
func (r *Reader) Pinned() bool { return r.pinned.Reader != nil }

// isShareable reports whether several goroutines may use the reader.
func (r *Reader) isShareable() bool { return r.pinned.Own != nil }

// Get implements storage.Reader.
func (r *Reader) Get(key []byte) ([]byte, io.Closer, error) {
	if r.Pinned() {
		return r.pinned.Get(key)
	}
	return r.view.Get(key)
}

// Kept implements storage.Keeper.
func (r *Reader) Kept(key []byte) ([]byte, bool) {
	if k, ok := r.pinned.Own.(storage.Keeper); ok {
		return k.Kept(key)
	}
	return nil, false
}

// Keep implements storage.Keeper.
func (r *Reader) Keep(key, value []byte, spare bool) {
	if k, ok := r.pinned.Own.(storage.Keeper); ok {
		k.Keep(key, value, spare)
	}
}

// NewIter implements storage.Reader.
func (r *Reader) NewIter(lower, upper []byte) (storage.Iterator, error) {
	r.Pin()
	return r.pinned.NewIter(lower, upper)
}

// Close releases the snapshot. If the reader is used again, it takes a new snapshot.
func (r *Reader) Close() error {
	pinned := r.pinned
	r.pinned = table.Pinned{}
	return pinned.Close()
}

// visibleEnd returns the key in the oplog at which a reader must stop, because the entries from
// there on may have holes. It returns nil if the reader has no such limit.
func visibleEnd(r storage.Reader, coll *table.Collection) []byte {
	v, ok := r.(interface{ Visible() storage.Stamp })
	if !ok {
		return nil
	}
	return coll.StampKey(nil, v.Visible()+1)
}

// pinner is a reader that takes its snapshot on demand.
type pinner interface{ Pin() }

// Pin makes a reader take its snapshot now, if it is a Reader. Other readers already have their
// snapshot.
func Pin(r storage.Reader) {
	if p, ok := r.(pinner); ok {
		p.Pin()
	}
}
