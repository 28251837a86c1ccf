package table

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/changelog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// past is what a Txn has that reads the collections as they were at a time: a snapshot of the
// history below, and above it, in a scratch transaction, what the log says that was committed
// between the two.
type past struct {
	point *changelog.Point[CatalogView]
	// changed are the collections that were made in between, by namespace; nil for those whose
	// state then is not known, as they were dropped, renamed or converted, or are capped. gone are
	// databases that were dropped.
	changed map[string]*Collection
	gone    map[string]bool
}

// BeginPast starts a transaction that reads what was committed up to a stamp, and nothing later,
// and refuses to write. Everything up to the stamp must be visible. It fails with ErrPastGone where
// that is before the history, and with SnapshotUnavailable where more than limit bytes would have
// to be applied. It ends with Abort.
func (s *Store) BeginPast(ctx context.Context, at storage.Stamp, limit int) (*Txn, error) {
	p, err := s.history.Acquire(at)
	if err != nil {
		return nil, err
	}
	t := &Txn{
		store: s, txn: s.engine.Scratch(p.Snapshot), view: p.View, limit: limit,
		past: &past{point: p, changed: make(map[string]*Collection), gone: make(map[string]bool)},
	}
	if err := t.replay(ctx, at); err != nil {
		t.Abort()
		return nil, err
	}
	return t, nil
}

// errReadsPast refuses to write.
func errReadsPast() error {
	return mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
		"Cannot write in a transaction that reads at a time of the past (atClusterTime)")
}

func errUnknownThen(db, name string) error {
	return mongoerr.New(mongoerr.SnapshotUnavailable, "Unable to read from a snapshot due to pending collection catalog changes; "+
		"please retry the operation. The collection %s.%s was changed too close to the time", db, name)
}

// lookup returns a collection that was changed between the snapshot and the time; found is false
// if there is none.
func (p *past) lookup(db, name string) (c *Collection, found bool, err error) {
	c, found = p.changed[db+"."+name]
	if found && c == nil || !found && p.gone[db] {
		return nil, true, errUnknownThen(db, name)
	}
	return c, found, nil
}

// replay applies the entries of the log up to a stamp that the snapshot does not have.
func (t *Txn) replay(ctx context.Context, at storage.Stamp) error {
	return t.store.history.Replay(ctx, t.past.point, at, func(entries []bsonx.Doc) error {
		for _, e := range entries {
			if err := t.apply(ctx, e); err != nil {
				return fmt.Errorf("apply the log of changes: %w", err)
			}
		}
		if t.txn.Bytes() > t.limit {
			return mongoerr.New(mongoerr.SnapshotUnavailable, "Unable to read from a snapshot: more than %d bytes were changed "+
				"between it and the newest time before it that is kept", t.limit)
		}
		return nil
	})
}

// apply applies an entry of the log, or an element of applyOps.
func (t *Txn) apply(ctx context.Context, entry bsonx.Doc) error {
	kind, o := oplog.Kind(entry.Lookup("op").StrBytes()), entry.Lookup("o").Doc()
	if kind == oplog.Noop {
		return nil
	}
	db, name, _ := strings.Cut(entry.Lookup("ns").Str(), ".")
	if kind == oplog.Command {
		return t.applyCommand(ctx, db, entry, o)
	}
	c, err := t.Lookup(db, name)
	switch {
	case mongoerr.CodeOf(err) == mongoerr.SnapshotUnavailable:
		return nil // so is a read of it
	case err != nil:
		return err
	case c == nil || c.Capped != nil || !c.hasUUID(entry.Lookup("ui")):
		t.past.changed[db+"."+name] = nil
		return nil
	}
	err = t.repeat(ctx, c, kind, entry, o)
	if err != nil && ctx.Err() == nil {
		// An index that was made or dropped meanwhile has no place for the document.
		t.past.changed[db+"."+name] = nil
		return nil
	}
	return err
}

// repeat makes a change of a document once more.
func (t *Txn) repeat(ctx context.Context, c *Collection, kind oplog.Kind, entry, o bsonx.Doc) error {
	w := newWriter(t.store, c, t.txn, t)
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

// applyCommand applies a command: a transaction, or a change of the catalog. An index that is made
// or dropped makes no difference, nor do other options: the snapshot's form of the collection is
// good for what is above it.
func (t *Txn) applyCommand(ctx context.Context, db string, entry, o bsonx.Doc) error {
	p, first := t.past, o.First()
	switch string(first.Key) {
	case "applyOps":
		for _, op := range first.Value.Doc().Values() {
			if err := t.apply(ctx, op.Doc()); err != nil {
				return err
			}
		}
	case "createIndexes", "dropIndexes", "collMod":
	case "create":
		// It was empty then, so that today's form of it is good, if it is still there.
		name := first.Value.Str()
		c := t.store.Lookup(db, name)
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
