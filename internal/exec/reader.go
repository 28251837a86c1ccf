package exec

import (
	"io"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// Reader is a storage.Reader of the newest committed state that takes its snapshot as late as it can: a single get
// goes to the engine, the first iterator (or Pin) takes the snapshot, and everything after reads from that.
//
// A Reader of a transaction, or of a snapshot that others hold, reads from that instead, and gives nothing back.
type Reader struct {
	engine storage.Engine
	snap   storage.Snapshot
	// visible is the stamp up to which the snapshot has everything.
	visible storage.Stamp
	txn     storage.Reader
}

// NewReader returns a reader without a snapshot.
func NewReader(engine storage.Engine) *Reader { return &Reader{engine: engine} }

// NewTxnReader returns a reader of what a transaction sees. It is used by the transaction's goroutine only.
func NewTxnReader(txn storage.Reader) *Reader { return &Reader{txn: txn} }

// NewSnapshotReader returns a reader of a snapshot that others hold.
func NewSnapshotReader(s *table.Snapshot) *Reader {
	return &Reader{txn: s.Reader(), visible: s.Visible()}
}

// Pin takes the snapshot now. The multikey paths of an index are only good for snapshots taken before they were asked
// for, so plans are made after Pin.
func (r *Reader) Pin() {
	if r.snap == nil && r.txn == nil {
		r.visible = r.engine.Order().Visible()
		r.snap = r.engine.NewSnapshot()
	}
}

// Visible returns the stamp up to which the reader has all stamped records; more of them may be there, with holes.
func (r *Reader) Visible() storage.Stamp {
	r.Pin()
	return r.visible
}

// Pinned reports whether the snapshot has been taken.
func (r *Reader) Pinned() bool { return r.snap != nil || r.txn != nil }

// isShareable reports whether several goroutines may read from it.
func (r *Reader) isShareable() bool { return r.snap != nil }

// Get implements storage.Reader.
func (r *Reader) Get(key []byte) ([]byte, io.Closer, error) {
	if r.snap != nil {
		return r.snap.Get(key)
	}
	if r.txn != nil {
		return r.txn.Get(key)
	}
	return r.engine.Get(key)
}

// Kept implements storage.Keeper.
func (r *Reader) Kept(key []byte) ([]byte, bool) {
	if k, ok := r.snap.(storage.Keeper); ok {
		return k.Kept(key)
	}
	return nil, false
}

// Keep implements storage.Keeper.
func (r *Reader) Keep(key, value []byte, spare bool) {
	if k, ok := r.snap.(storage.Keeper); ok {
		k.Keep(key, value, spare)
	}
}

// NewIter implements storage.Reader.
func (r *Reader) NewIter(lower, upper []byte) (storage.Iterator, error) {
	if r.txn != nil {
		return r.txn.NewIter(lower, upper)
	}
	r.Pin()
	return r.snap.NewIter(lower, upper)
}

// Close gives the snapshot back. The reader may be used again: it takes a new snapshot then.
func (r *Reader) Close() error {
	if r.snap == nil {
		return nil
	}
	snap := r.snap
	r.snap = nil
	return snap.Close()
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
