package table

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/changelog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Past is the View of the commits up to a stamp. It consists of a snapshot from the history, and of
// a scratch transaction on top with the changes that the oplog has between the snapshot and the
// stamp. It refuses to write. Only one goroutine at a time may use it.
type Past struct {
	fixed
	store *Store
	// scratch holds the changes that replay makes. It looks names up in the snapshot's catalog.
	scratch *Txn
	point   *changelog.Point[CatalogView] // nil after Abort
	// changed has the collections that changed between the snapshot and the stamp, by namespace.
	// The value is the collection if it was created then. It is nil if the state at the stamp is
	// unknown: the collection is capped, or was dropped, renamed or converted.
	changed map[string]*Collection
	// gone has the databases that were dropped between the snapshot and the stamp.
	gone map[string]bool
}

// BeginPast returns a View of the commits up to the stamp at. All commits up to at must be visible.
// It fails with ErrPastGone if at is before the history, and with SnapshotUnavailable if more than
// limit bytes of changes would have to be applied. The caller must call Abort.
func (s *Store) BeginPast(ctx context.Context, at storage.Stamp, limit int) (*Past, error) {
	point, err := s.history.Acquire(at)
	if err != nil {
		return nil, err
	}
	p := &Past{
		store: s, point: point,
		scratch: &Txn{store: s, txn: s.engine.Scratch(point.Snapshot), view: point.View, limit: limit},
		changed: make(map[string]*Collection), gone: make(map[string]bool),
	}
	if err := p.replay(ctx, at); err != nil {
		p.Abort()
		return nil, err
	}
	return p, nil
}

// Lookup implements View. It also fails if the state of the collection at that time is unknown.
func (p *Past) Lookup(db, name string) (*Collection, error) {
	c, found := p.changed[db+"."+name]
	switch {
	case found && c == nil, !found && p.gone[db]:
		return nil, errUnknownThen(db, name)
	case found:
		return c, nil
	}
	return p.scratch.Lookup(db, name)
}

// Get implements View.
func (p *Past) Get(key []byte) (value []byte, closer io.Closer, err error) {
	return p.scratch.Get(key)
}

// Pin implements View. Only one goroutine at a time may use the result.
func (p *Past) Pin() Pinned { return p.scratch.Pin() }

// Ensure implements Transaction. It fails if the collection does not exist.
func (p *Past) Ensure(db, name string) (*Collection, error) {
	c, err := p.Lookup(db, name)
	if err == nil && c == nil {
		err = errReadsPast()
	}
	return c, err
}

// Create implements Transaction. It always fails.
func (p *Past) Create(string, string, bsonx.Doc) (*Collection, error) { return nil, errReadsPast() }

// CreateIndexes implements Transaction. It always fails.
func (p *Past) CreateIndexes(c *Collection, _ []bsonx.Doc) error { return errIndexesOnExisting(c) }

// BeginWrite implements Writable. It always fails.
func (p *Past) BeginWrite(*Collection) (*Writer, error) { return nil, errReadsPast() }

// Remember implements Transaction. It does nothing, because a Past does not change anything.
func (p *Past) Remember([]byte, []byte) error { return nil }

// Commit implements Transaction.
func (p *Past) Commit(storage.Durability) error {
	p.Abort()
	return nil
}

// Stamp implements Transaction.
func (p *Past) Stamp() storage.Stamp { return 0 }

// Abort releases the snapshot.
func (p *Past) Abort() {
	p.scratch.Abort()
	if p.point != nil {
		p.store.history.Release(p.point)
		p.point = nil
	}
}

// IsNewest returns false: a Past shows an earlier state.
func (p *Past) IsNewest() bool { return false }

// Close is the same as Abort.
func (p *Past) Close() error {
	p.Abort()
	return nil
}

// errReadsPast is the error for a write in a transaction that reads at an earlier time.
func errReadsPast() error {
	return mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
		"Cannot write in a transaction that reads at a time of the past (atClusterTime)")
}

func errUnknownThen(db, name string) error {
	return mongoerr.New(mongoerr.SnapshotUnavailable, "Unable to read from a snapshot due to pending collection catalog changes; "+
		"please retry the operation. The collection %s.%s was changed too close to the time", db, name)
}

// replay applies the oplog entries after the snapshot, up to the stamp at.
func (p *Past) replay(ctx context.Context, at storage.Stamp) error {
	return p.store.history.Replay(ctx, p.point, at, func(entries []bsonx.Doc) error {
		for _, e := range entries {
			if err := p.apply(ctx, e); err != nil {
				return fmt.Errorf("apply the log of changes: %w", err)
			}
		}
		if p.scratch.txn.Bytes() > p.scratch.limit {
			return mongoerr.New(mongoerr.SnapshotUnavailable, "Unable to read from a snapshot: more than %d bytes were changed "+
				"between it and the newest time before it that is kept", p.scratch.limit)
		}
		return nil
	})
}

// apply applies an oplog entry, or an element of an applyOps entry.
func (p *Past) apply(ctx context.Context, entry bsonx.Doc) error {
	kind, o := oplog.Kind(entry.Lookup("op").StrBytes()), entry.Lookup("o").Doc()
	if kind == oplog.Noop {
		return nil
	}
	db, name, _ := strings.Cut(entry.Lookup("ns").Str(), ".")
	if kind == oplog.Command {
		return p.applyCommand(ctx, db, entry, o)
	}
	c, err := p.Lookup(db, name)
	switch {
	case mongoerr.CodeOf(err) == mongoerr.SnapshotUnavailable:
		return nil // the state of the collection is unknown, and reading it fails
	case err != nil:
		return err
	case c == nil || c.Capped != nil || !c.hasUUID(entry.Lookup("ui")):
		p.changed[db+"."+name] = nil
		return nil
	}
	err = p.repeat(ctx, c, kind, entry, o)
	if err != nil && ctx.Err() == nil {
		// The snapshot's indexes may refuse the document, if an index was created or dropped since.
		p.changed[db+"."+name] = nil
		return nil
	}
	return err
}

// repeat applies the change of a document to the scratch transaction.
func (p *Past) repeat(ctx context.Context, c *Collection, kind oplog.Kind, entry, o bsonx.Doc) error {
	w := newWriter(p.store, c, p.scratch.txn, p.scratch)
	w.log.on, w.replays = false, true
	defer w.Close()
	if kind == oplog.Insert {
		return w.Insert(ctx, o)
	}
	id := o.Lookup("_id")
	if kind == oplog.Update {
		id = entry.Lookup("o2").Doc().Lookup("_id")
	}
	key := c.RecordKey(nil, id)
	old, err := w.Lock(ctx, key, nil)
	switch {
	case err != nil:
		return err
	case old == nil:
		return fmt.Errorf("the document %s of %s is not there", bsonx.FormatShell(id), c.Namespace())
	case kind == oplog.Delete:
		return w.Delete(key, old)
	}
	if diff := o.Lookup("diff"); !o.Lookup("$v").IsMissing() {
		if o, err = oplog.Apply(nil, old, diff.Doc()); err != nil {
			return err
		}
	}
	return w.Update(ctx, key, old, o, Replacement)
}

func (c *Collection) hasUUID(v bsonx.Value) bool {
	if v.Type != bsonx.TypeBinary {
		return false
	}
	_, uuid := v.Binary()
	return bytes.Equal(uuid, c.UUID[:])
}

// applyCommand applies a command entry: a transaction, or a change of the catalog. Changes of
// indexes and of options are ignored: the snapshot's version of the collection can still be used to
// read the records.
func (p *Past) applyCommand(ctx context.Context, db string, entry, o bsonx.Doc) error {
	first := o.First()
	switch string(first.Key) {
	case "applyOps":
		for _, op := range first.Value.Doc().Values() {
			if err := p.apply(ctx, op.Doc()); err != nil {
				return err
			}
		}
	case "createIndexes", "dropIndexes", "collMod":
	case "create":
		// A new collection is empty, so its newest version can be used, if it still exists.
		name := first.Value.Str()
		c := p.store.Lookup(db, name)
		if c != nil && (c.Capped != nil || !c.hasUUID(entry.Lookup("ui"))) {
			c = nil
		}
		p.changed[db+"."+name] = c
	case "dropDatabase":
		p.gone[db] = true
	case "renameCollection":
		p.changed[first.Value.Str()] = nil
		p.changed[o.Lookup("to").Str()] = nil
	default:
		p.changed[db+"."+first.Value.Str()] = nil
	}
	return nil
}
