package exec

import (
	"io"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// Reader is a storage.Reader of a View. It takes a snapshot of the newest state as late as it can:
// a single get needs no snapshot, the first iterator (or Pin) takes it, and everything after reads
// from that. A fixed View needs no snapshot.
type Reader struct {
	view   table.View
	pinned table.Pinned // zero before Pin
}

// NewReader returns a reader without a snapshot. If only one goroutine may use the View, only that
// goroutine may use the reader.
func NewReader(view table.View) *Reader { return &Reader{view: view} }

// Pin takes the snapshot now. The multikey paths of an index are only good for snapshots taken
// before the paths were asked for, so plans are made after Pin.
func (r *Reader) Pin() {
	if !r.Pinned() {
		r.pinned = r.view.Pin()
	}
}

// Visible returns the stamp up to which the reader has all stamped records. It may have some later
// ones too, with holes.
func (r *Reader) Visible() storage.Stamp {
	r.Pin()
	return r.pinned.Visible
}

// Pinned reports whether the snapshot has been taken.
func (r *Reader) Pinned() bool { return r.pinned.Reader != nil }

// isShareable reports whether several goroutines may read from it.
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

// Close gives the snapshot back. The reader may be used again: it takes a new snapshot then.
func (r *Reader) Close() error {
	pinned := r.pinned
	r.pinned = table.Pinned{}
	return pinned.Close()
}

// visibleEnd returns the first key of the log of changes that a reader must not look at.
func visibleEnd(r storage.Reader, coll *table.Collection) []byte {
	v, ok := r.(interface{ Visible() storage.Stamp })
	if !ok {
		return nil
	}
	return coll.StampKey(nil, v.Visible()+1)
}

// pinner is a reader that can be told to take its snapshot.
type pinner interface{ Pin() }

// Pin takes the snapshot of a Reader; other readers have theirs already.
func Pin(r storage.Reader) {
	if p, ok := r.(pinner); ok {
		p.Pin()
	}
}
