package table

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Create makes a collection or a view. It fails with NamespaceExists where the name is taken.
func (s *Store) Create(db, name string, kind catalog.Kind, options bsonx.Doc) (*Collection, error) {
	return s.CreateNew(&NewCollection{DB: db, Name: name, Kind: kind, Options: options})
}

// NewCollection is what CreateNew makes.
type NewCollection struct {
	DB, Name string
	Kind     catalog.Kind
	Options  bsonx.Doc
	// Indexes are the specifications of the collection's first indexes.
	Indexes []bsonx.Doc
	// Check, which may be nil, refuses the collection. No other change of the catalog happens between
	// the check and this one.
	Check func() error
}

// CreateNew makes a collection or a view, with its first indexes, in one change. It fails with
// NamespaceExists where the name is taken.
func (s *Store) CreateNew(n *NewCollection) (*Collection, error) {
	if err := s.checkNew(n.DB, n.Name); err != nil {
		return nil, err
	}
	s.interleave()
	var entry *catalog.Collection
	err := s.define(s.catalog.Update, func(ch *catalog.Change) error {
		if ch.Lookup(n.DB, n.Name) != nil {
			return mongoerr.New(mongoerr.NamespaceExists, "Collection %s.%s already exists.", n.DB, n.Name)
		}
		if err := s.catalog.CheckNewDatabase(n.DB); err != nil {
			return err
		}
		if n.Check != nil {
			if err := n.Check(); err != nil {
				return err
			}
		}
		entry = newEntry(ch.NewID, n.DB, n.Name, n.Kind, n.Options)
		for _, spec := range n.Indexes {
			ix := catalog.NewIndex(ch.NewID(), spec.Clone())
			markReady(ix)
			entry.Indexes = append(entry.Indexes, ix)
		}
		ch.Put(entry)
		if err := s.logCreate(ch, entry); err != nil {
			return err
		}
		return s.logIndexes(ch, entry, entry.Indexes)
	})
	if err != nil {
		return nil, err
	}
	return entry.Attached.(*Collection), nil
}

// Ensure returns a collection and makes it where there is none.
func (s *Store) Ensure(db, name string) (*Collection, error) {
	for {
		if c := s.Lookup(db, name); c != nil {
			return c, nil
		}
		c, err := s.Create(db, name, catalog.KindCollection, bsonx.Empty)
		if mongoerr.CodeOf(err) == mongoerr.NamespaceExists {
			continue // someone else made it just now
		}
		return c, err
	}
}

func newEntry(newID func() uint32, db, name string, kind catalog.Kind, options bsonx.Doc) *catalog.Collection {
	if options == nil {
		options = bsonx.Empty
	}
	entry := &catalog.Collection{ID: newID(), DB: db, Name: name, UUID: NewUUID(), Kind: kind, Options: options.Clone()}
	if kind == catalog.KindCollection && IsCapped(options) {
		entry.IDIndex = catalog.NewIDIndex(newID())
	}
	return entry
}

// NewUUID returns a random UUID (version 4).
func NewUUID() (id [16]byte) {
	_, _ = rand.Read(id[:]) // never fails
	id[6] = id[6]&0x0F | 0x40
	id[8] = id[8]&0x3F | 0x80
	return id
}

// Drop removes a collection or view with its records and indexes, a time-series collection with its buckets. It fails with NamespaceNotFound where c has another
// name by now.
func (s *Store) Drop(c *Collection) error {
	if s.isLive(c) {
		return errLiveOplog("drop")
	}
	colls := s.withBuckets(c)
	names := map[string]bool{}
	for _, c := range colls {
		names[c.Namespace()] = true
	}
	check := func(newest *Collection) error {
		if newest == nil || !names[newest.Namespace()] {
			return fmt.Errorf("%w: %w", mongoerr.New(mongoerr.NamespaceNotFound, "ns not found"), ErrChanged)
		}
		return nil
	}
	return s.dropAll(colls, check, func(*catalog.Change) error { return nil })
}

// DropDatabase removes all collections and views of a database, also those that appear while it
// waits for the others' writers. It reports whether it removed any: another client may have dropped
// them all. Where ctx ends before the change is committed, it removes nothing.
func (s *Store) DropDatabase(ctx context.Context, db string) (dropped bool, err error) {
	for {
		var colls []*Collection
		for _, e := range s.catalog.Collections(db) {
			colls = append(colls, e.Attached.(*Collection))
		}
		if len(colls) == 0 {
			return false, nil
		}
		if dropped, err = s.dropListed(ctx, db, colls); !errors.Is(err, errTargetChanged) {
			return dropped, err
		}
	}
}

// dropListed is DropDatabase of those collections. It fails with errTargetChanged where there are others.
func (s *Store) dropListed(ctx context.Context, db string, colls []*Collection) (dropped bool, err error) {
	listed := make(map[uint32]bool, len(colls))
	for _, c := range colls {
		listed[c.ID] = true
	}
	check := func(newest *Collection) error {
		if err := interrupt.Cause(ctx); err != nil {
			return err
		}
		if newest == nil || newest.DB != db {
			return errSkip // dropped or moved away meanwhile
		}
		return nil
	}
	err = s.dropAll(colls, check, func(ch *catalog.Change) error {
		for _, e := range s.catalog.Collections(db) {
			if !listed[e.ID] {
				return errTargetChanged
			}
		}
		if dropped = len(ch.Removed()) > 0; !dropped {
			return nil
		}
		return s.logCommand(ch.Txn(), db, nil, bsonx.NewDoc("dropDatabase", 1), nil)
	})
	return dropped && err == nil, err
}

// errSkip is what the check of dropAll returns for a collection to leave as it is.
var errSkip = errors.New("not to be dropped")

// dropAll removes collections in one change, with what last adds to it. check is asked about the newest form of each, nil where
// it was dropped.
func (s *Store) dropAll(colls []*Collection, check func(newest *Collection) error, last func(*catalog.Change) error) error {
	colls = byID(colls)
	return s.discard(colls, func(ch *catalog.Change) (garbage []catalog.Range, err error) {
		for _, c := range colls {
			newest := c.shared.current.Load()
			if err := check(newest); errors.Is(err, errSkip) {
				continue
			} else if err != nil {
				return nil, err
			}
			ch.Remove(newest.Collection)
			if err := s.logDrop(ch, newest); err != nil {
				return nil, err
			}
			garbage = append(garbage, newest.ranges()...)
		}
		return garbage, last(ch)
	})
}

// discard runs a change of existing collections that returns what no entry refers to after it, and deletes that.
func (s *Store) discard(colls []*Collection, fn func(*catalog.Change) ([]catalog.Range, error)) error {
	var garbage []catalog.Range
	err := s.change(colls, func(ch *catalog.Change) (err error) {
		if garbage, err = fn(ch); err != nil {
			return err
		}
		garbage = joined(garbage)
		return remember(ch, garbage)
	})
	if err != nil {
		return err
	}
	s.sweep(garbage)
	return nil
}

// Rename gives a collection another name. Where a collection has the name, Rename fails with
// NamespaceExists, or drops that collection in the same change with dropTarget. A view or a
// time-series collection that has the name is never dropped: Rename fails with NamespaceExists. A
// temporary collection becomes an ordinary one.
func (s *Store) Rename(c *Collection, db, name string, dropTarget bool) error {
	return s.renameOver(c, db, name, renaming{accept: Droppable(dropTarget)})
}

// RenameOver is Rename that drops what has the name only if accept returns no error for it; nil
// stands for nothing. It is asked when the rename commits.
func (s *Store) RenameOver(c *Collection, db, name string, stayTemp bool, accept func(target *catalog.Collection) error) error {
	return s.renameOver(c, db, name, renaming{accept: accept, stayTemp: stayTemp})
}

// renaming tells what a rename does beside it: it drops what had the name, nil for nothing, if accept
// returns no error for it.
type renaming struct {
	accept   func(target *catalog.Collection) error
	stayTemp bool
}

// Droppable accepts what a rename may drop: nothing, or a collection if dropTarget says so.
func Droppable(dropTarget bool) func(target *catalog.Collection) error {
	return func(target *catalog.Collection) error {
		switch {
		case target == nil:
			return nil
		case target.Kind != catalog.KindCollection:
			return mongoerr.New(mongoerr.NamespaceExists, "a view already exists with that name: %s", target.Namespace())
		case !dropTarget:
			return mongoerr.New(mongoerr.NamespaceExists, "target namespace exists")
		}
		return nil
	}
}

// Replace gives c the name of old, which is nil where nothing had the name, and drops what has it. It
// fails with CommandFailed where that has other options or indexes than old had: c was made after it.
func (s *Store) Replace(c *Collection, db, name string, old *Collection) error {
	var was *catalog.Collection
	if old != nil {
		was = old.Collection
	}
	return s.renameOver(c, db, name, renaming{
		accept: func(target *catalog.Collection) error { return SameDefinition(db, name, was, target) },
	})
}

// SameDefinition fails unless two entries, which may be nil, have the same options and indexes.
func SameDefinition(db, name string, was, is *catalog.Collection) error {
	changed := func(what string) error {
		return mongoerr.New(mongoerr.CommandFailed, "%s of target collection %s.%s changed while processing", what, db, name)
	}
	switch {
	case was == is:
		return nil
	case was == nil || is == nil || was.Kind != is.Kind || !was.Options.Equal(is.Options):
		return changed("collection options")
	}
	if !slices.EqualFunc(CompleteIndexes(was), CompleteIndexes(is), bsonx.Doc.Equal) {
		return changed("indexes")
	}
	return nil
}

// CompleteIndexes returns the specifications of the indexes that a collection's successor gets: not of those that are being
// built, whose build ends with the collection.
func CompleteIndexes(e *catalog.Collection) (specs []bsonx.Doc) {
	for _, ix := range e.Indexes {
		if ix.Ready && !isRebuild(ix.Name) {
			specs = append(specs, ix.Spec)
		}
	}
	return specs
}

// renameOver gives a collection another name.
func (s *Store) renameOver(c *Collection, db, name string, opts renaming) error {
	if s.isLive(c) {
		return errLiveOplog("rename")
	}
	if err := s.checkNew(db, name); err != nil {
		return err
	}
	for {
		err := s.rename(c, s.Lookup(db, name), db, name, opts)
		if !errors.Is(err, errTargetChanged) {
			return err
		}
	}
}

// errTargetChanged means that a name came to mean another collection while it was about to be taken.
var errTargetChanged = errors.New("the target has changed")

// rename is renameOver of target, which may be nil.
func (s *Store) rename(c, target *Collection, db, name string, opts renaming) error {
	colls := []*Collection{c}
	if target != nil && target.ID != c.ID {
		colls = append(colls, target)
	}
	return s.discard(colls, func(ch *catalog.Change) (garbage []catalog.Range, err error) {
		source := c.shared.current.Load()
		if source == nil || source.Namespace() != c.Namespace() {
			return nil, fmt.Errorf("%w: %w", mongoerr.New(mongoerr.NamespaceNotFound, "Source collection %s does not exist", c.Namespace()), ErrChanged)
		}
		if source.DB == db && source.Name == name {
			return nil, mongoerr.New(mongoerr.IllegalOperation, "Can't rename a collection to itself")
		}
		old := ch.Lookup(db, name)
		if err := opts.accept(old); err != nil {
			return nil, err
		}
		if old != nil {
			if target == nil || old.ID != target.ID {
				return nil, errTargetChanged
			}
			ch.Remove(old)
			garbage = old.Attached.(*Collection).ranges()
		} else if err := s.catalog.CheckNewDatabase(db); err != nil {
			return nil, err
		}
		renamed := *source.Collection
		renamed.DB, renamed.Name = db, name
		if !opts.stayTemp {
			renamed.Options = renamed.Options.Without("temp")
		}
		ch.Remove(source.Collection)
		ch.Put(&renamed)
		return garbage, s.logRename(ch, source.Collection, &renamed, old, opts.stayTemp)
	})
}

// CreateIndexes builds indexes from specifications that were checked against c: it fails with ErrChanged
// where c is not the newest version. Writers go on during the build; readers use the indexes when all are
// complete. Where one cannot be built, none is left.
func (s *Store) CreateIndexes(ctx context.Context, c *Collection, specs []bsonx.Doc) error {
	if s.isLive(c) {
		return errLiveOplog("build an index of the")
	}
	var ids []uint32
	err := s.modify(c, func(ch *catalog.Change, entry *catalog.Collection) error {
		if err := c.unchanged(); err != nil {
			return err
		}
		entry.Indexes = slices.Clone(entry.Indexes)
		ids = ids[:0]
		for _, spec := range specs {
			ix := catalog.NewIndex(ch.NewID(), spec.Clone())
			if entry.Index(ix.Name) != nil {
				return mongoerr.New(mongoerr.IndexBuildAlreadyInProgress, "Index already exists or is being built: %s", ix.Name)
			}
			entry.Indexes = append(entry.Indexes, ix)
			ids = append(ids, ix.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.build(ctx, c, ids); err != nil {
		return errors.Join(s.buildFailed(c, err), s.dropUnbuilt(c, ids))
	}
	return nil
}
