package table

import (
	"fmt"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/changelog"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// Compiler compiles the filters and validators in a catalog entry. Package command implements it.
type Compiler interface {
	// Partial compiles a partialFilterExpression with the collation of the index.
	Partial(filter bsonx.Doc, c *collation.Collator) (Predicate, error)
	// Validator compiles the validator in a collection's options with the collection's collation.
	// It returns nil if the options have no validator.
	Validator(options bsonx.Doc, c *collation.Collator) (Validator, error)
}

// attacher compiles the entries of the catalog.
type attacher struct {
	engine     storage.Engine
	clock      clock.Clock
	compiler   Compiler
	activities *changelog.Activities
	scans      *Scans // scans of all collections together
}

// collection compiles an entry. It is the catalog's Attach hook. old is the previous version of the
// entry, or nil.
func (a *attacher) collection(entry, old *Entry) (*Collection, error) {
	c := &Collection{Collection: entry, namespace: entry.Namespace(), activity: a.activities.Of(entry.DB, entry.Name)}
	var previous *Collection
	if old != nil {
		previous = old.Attached
		c.shared = previous.shared
	} else {
		c.shared = &shared{
			counter: keyspace.Prefix(keyspace.Counters, entry.ID),
			idUses:  newUses(a.clock), scans: Scans{all: a.scans},
		}
		if entry.IDIndex != nil {
			c.shared.capped = &cappedState{}
		}
		if isOplog(entry) {
			c.shared.capped, c.shared.order = &cappedState{}, a.engine.Order()
		}
	}
	if err := a.options(c, previous); err != nil {
		return nil, err
	}
	if entry.Kind == catalog.KindCollection {
		c.Timeseries = timeseries.FromOptions(entry.Options)
	}
	c.PreImages = entry.Options.LookupPath("changeStreamPreAndPostImages", "enabled").Truthy()
	for _, e := range entry.Indexes {
		co, err := collationOf(e.Spec)
		if err != nil {
			return nil, fmt.Errorf("index %s: %w", e.Name, err)
		}
		ix, err := a.index(e, previous, co)
		if err != nil {
			return nil, fmt.Errorf("index %s: %w", e.Name, err)
		}
		if c.Timeseries != nil {
			ix.measured = c.Timeseries.Measured(e.Key)
		}
		if IsRebuild(ix.Name) {
			c.rebuilds = append(c.rebuilds, ix)
		} else {
			c.Indexes = append(c.Indexes, ix)
		}
	}
	c.maintained = c.AllIndexes()
	if err := a.idIndex(c, previous); err != nil {
		return nil, err
	}
	if old == nil {
		c.shared.current.Store(c)
	}
	return c, nil
}

// options sets the collation and the validator of c. It takes them from the previous version if the
// options are the same.
func (a *attacher) options(c, previous *Collection) (err error) {
	if previous != nil && previous.Options.Equal(c.Options) {
		c.Collation, c.Validator = previous.Collation, previous.Validator
		return nil
	}
	if c.Collation, err = collationOf(c.Options); err != nil {
		return err
	}
	c.Validator, err = a.compiler.Validator(c.Options, c.Collation)
	return err
}

// idIndex compiles the properties that only capped collections have: the limits and the _id index.
func (a *attacher) idIndex(c, previous *Collection) error {
	entry := c.Collection.IDIndex
	if isOplog(c.Collection) {
		c.Capped, c.Oplog = cappedOptions(c.Options), true
	}
	if entry == nil {
		return nil
	}
	c.Capped = cappedOptions(c.Options)
	if previous != nil {
		c.IDIndex = previous.IDIndex
	} else {
		ix, err := a.index(entry, nil, c.Collation)
		if err != nil {
			return fmt.Errorf("index %s: %w", entry.Name, err)
		}
		c.IDIndex = ix
	}
	c.maintained = append([]*Index{c.IDIndex}, c.maintained...)
	return nil
}

// collationOf returns the collation in a collection's options or in an index's specification. It
// returns nil if they have no collation.
func collationOf(spec bsonx.Doc) (*collation.Collator, error) {
	v := spec.Lookup("collation")
	if v.Type != bsonx.TypeDocument {
		return nil, nil
	}
	return collation.Parse(v.Doc())
}

// index compiles an index. If its specification has not changed, it shares the compiled parts with
// the previous version: the history keeps old versions for a while, and a partial filter may be as
// large as 16 MiB.
func (a *attacher) index(e *catalog.Index, previous *Collection, co *collation.Collator) (*Index, error) {
	p := previous.IndexByID(e.ID)
	if p != nil && p.Spec.Equal(e.Spec) {
		shared := *p
		shared.Index, shared.measured = e, nil
		return &shared, nil
	}
	pattern, keygen, err := index.Compile(index.Spec{Key: e.Key, Sparse: e.Sparse, Collation: co, Options: e.Spec})
	if err != nil {
		return nil, err
	}
	ix := &Index{Index: e, Pattern: pattern, keygen: keygen, Collation: co}
	ix.byPaths = ix.Kind().Definition().ByPaths == feature.Yes
	if p != nil {
		ix.multikey, ix.uses = p.multikey, p.uses
	} else {
		ix.multikey, ix.uses = &multikeyState{}, newUses(a.clock)
		if err := ix.loadMultikey(a.engine); err != nil {
			return nil, err
		}
	}
	if e.PartialFilter != nil {
		partial, err := a.compiler.Partial(e.PartialFilter, ix.Collation)
		if err != nil {
			return nil, err
		}
		ix.Partial = partial
	}
	return ix, nil
}
