package exec

import (
	"context"
	"errors"
	"io"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// IDHack reads the record with a given _id by one get from the store, without an iterator or a
// snapshot. In a collection whose records are not clustered by _id, IDHack first looks up the key
// of the record in the _id index, which takes an iterator.
type IDHack struct {
	base
	coll   *table.Collection
	id     bsonx.Value
	done   bool
	closer io.Closer
	row    Row
}

// NewIDHack returns a node that yields the record with that _id, if it exists.
func NewIDHack(env *Env, coll *table.Collection, id bsonx.Value) *IDHack {
	return &IDHack{base: base{env: env}, coll: coll, id: id}
}

// Next implements Node.
func (n *IDHack) Next(ctx context.Context) (*Row, error) {
	n.release()
	if n.done {
		return n.end()
	}
	if err := n.env.step(ctx); err != nil {
		return nil, err
	}
	n.done = true
	n.stats.Works++
	var running interrupt.Running
	running.Set(ctx)
	if n.coll.IDIndex == nil {
		var err error
		if n.row.RecordKey, err = n.coll.RecordKeyFor(nil, n.id, &running); err != nil {
			return nil, err
		}
	} else {
		found, err := n.find(&running)
		if err != nil {
			return nil, err
		}
		if !found {
			return n.end()
		}
	}
	doc, closer, err := n.env.Reader.Get(n.row.RecordKey)
	if errors.Is(err, storage.ErrNotFound) {
		return n.end()
	}
	if err != nil {
		return nil, err
	}
	n.stats.KeysExamined++
	n.stats.DocsExamined++
	n.closer, n.row.Doc = closer, doc
	return n.emit(&n.row)
}

// IsEOF implements Node.
func (n *IDHack) IsEOF() bool { return n.stats.IsEOF || n.done }

// find looks up the record's key in the _id index. It returns false if the _id does not exist.
func (n *IDHack) find(r *interrupt.Running) (bool, error) {
	ix := n.coll.IDIndex
	id, err := ix.Collation.Fold(n.id, r)
	if err != nil {
		return false, err
	}
	key := keystring.Append(ix.Prefix(), id, false)
	it, err := n.env.Reader.NewIter(key, append(key[:len(key):len(key)], 0xFF))
	if err != nil {
		return false, err
	}
	defer it.Close()
	if !it.First() {
		return false, it.Err()
	}
	n.row.RecordKey, err = n.coll.RecordKeyOfEntry(n.row.RecordKey[:0], ix, it.Key())
	return true, err
}

// Save implements Node.
func (n *IDHack) Save() {
	n.base.Save()
	n.release()
}

// Close implements Node.
func (n *IDHack) Close() { n.release() }

func (n *IDHack) release() {
	if n.closer != nil {
		_ = n.closer.Close()
		n.closer, n.row.Doc = nil, nil
	}
}
