package schema

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

// RenameOver gives a collection another name, and drops a collection that has the name in the same
// change of the catalog. When the rename commits, accept is called with the entry that has the
// name, or nil; an error of accept cancels the rename. A temporary collection becomes an ordinary
// one unless stayTemp is true.
func RenameOver(s *table.Store, c *table.Collection, db, name string, stayTemp bool,
	accept func(target *table.Entry) error,
) error {
	return renameOver(s, c, db, name, renaming{accept: accept, stayTemp: stayTemp})
}

// renaming holds the options of a rename. The rename drops the entry that has the new name if
// accept returns nil for it; accept also gets nil if the name is free.
type renaming struct {
	accept   func(target *table.Entry) error
	stayTemp bool
}

// Droppable returns a function that accepts a free name, and a collection if dropTarget is true.
func Droppable(dropTarget bool) func(target *table.Entry) error {
	return func(target *table.Entry) error {
		switch {
		case target == nil:
			return nil
		case target.Kind != catalog.KindCollection:
			return mongoerr.New(mongoerr.NamespaceExists,
				"a view already exists with that name: %s", target.Namespace())
		case !dropTarget:
			return mongoerr.New(mongoerr.NamespaceExists, "target namespace exists")
		}
		return nil
	}
}

// Replace gives c the name of old and drops the collection that has the name. old is nil if the
// name was free when c was made. Replace fails with CommandFailed if the options or indexes of the
// collection with the name differ from the ones that old had, because c was made to match old.
func Replace(s *table.Store, c *table.Collection, db, name string, old *table.Collection) error {
	var was *table.Entry
	if old != nil {
		was = old.Collection
	}
	return renameOver(s, c, db, name, renaming{
		accept: func(target *table.Entry) error { return SameDefinition(db, name, was, target) },
	})
}

// SameDefinition fails unless two entries, which may be nil, have the same options and indexes.
func SameDefinition(db, name string, was, is *table.Entry) error {
	changed := func(what string) error {
		return mongoerr.New(mongoerr.CommandFailed,
			"%s of target collection %s.%s changed while processing", what, db, name)
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

// CompleteIndexes returns the specifications of the indexes that the successor of a collection
// gets. It leaves out indexes that are being built: their build ends with the collection.
func CompleteIndexes(e *table.Entry) (specs []bsonx.Doc) {
	for _, ix := range e.Indexes {
		if ix.Ready && !table.IsRebuild(ix.Name) {
			specs = append(specs, ix.Spec)
		}
	}
	return specs
}

// renameOver gives a collection another name.
func renameOver(s *table.Store, c *table.Collection, db, name string, opts renaming) error {
	if s.IsLive(c) {
		return errLiveOplog("rename")
	}
	if err := s.CheckNew(db, name); err != nil {
		return err
	}
	return table.RetryOn(errTargetChanged, func() error { return rename(s, c, s.Lookup(db, name), db, name, opts) })
}

// errTargetChanged means that a name belongs to another collection than at the look-up before a
// change. The change is tried again.
var errTargetChanged = errors.New("the target has changed")

// rename is renameOver for a target that was looked up; target may be nil.
func rename(s *table.Store, c, target *table.Collection, db, name string, opts renaming) error {
	colls := []*table.Collection{c}
	if target != nil && target.ID != c.ID {
		colls = append(colls, target)
	}
	return discard(s, colls, func(ch *table.CatalogChange) (garbage []catalog.Range, err error) {
		source := s.Current(c)
		if source == nil || source.Namespace() != c.Namespace() {
			return nil, fmt.Errorf("%w: %w",
				mongoerr.New(mongoerr.NamespaceNotFound, "Source collection %s does not exist",
					c.Namespace()), table.ErrChanged)
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
			garbage = old.Attached.Ranges()
		} else if err := s.Catalog().CheckNewDatabase(db); err != nil {
			return nil, err
		}
		renamed := *source.Collection
		renamed.DB, renamed.Name = db, name
		if !opts.stayTemp {
			renamed.Options = renamed.Options.Without("temp")
		}
		ch.Remove(source.Collection)
		ch.Put(&renamed)
		return garbage, logRename(s, ch, source.Collection, &renamed, old, opts.stayTemp)
	})
}
