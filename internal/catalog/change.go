package catalog

import (
	"fmt"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Range is a range of storage keys, [Start, End), with data of a dropped collection or index that
// must be deleted.
type Range struct{ Start, End []byte }

// Change is a set of changes that become durable and visible together. Catalog.Update creates it.
type Change[T any] struct {
	c       *Catalog[T]
	txn     storage.Txn
	puts    []*Collection[T]
	removes []*Collection[T]
	// attached has the elements of puts whose Attached is already set, so the Attach hook is not
	// called.
	attached map[*Collection[T]]bool
}

// NewID returns a storage identifier that was never used.
func (ch *Change[T]) NewID() uint32 {
	id := ch.c.next
	ch.c.next++
	return id
}

// Lookup returns the newest entry of a namespace, or nil. It does not see the changes made through
// ch.
func (ch *Change[T]) Lookup(db, name string) *Collection[T] { return ch.c.Lookup(db, name) }

// Collections returns the newest entries of a database. It does not see the changes made through
// ch.
func (ch *Change[T]) Collections(db string) []*Collection[T] { return ch.c.Collections(db) }

// Put adds or replaces an entry. The commit sets its Version.
func (ch *Change[T]) Put(entry *Collection[T]) { ch.puts = append(ch.puts, entry) }

// PutAttached is like Put for an entry whose Attached is already set.
func (ch *Change[T]) PutAttached(entry *Collection[T]) {
	ch.Put(entry)
	if ch.attached == nil {
		ch.attached = make(map[*Collection[T]]bool)
	}
	ch.attached[entry] = true
}

// Remove removes an entry.
func (ch *Change[T]) Remove(entry *Collection[T]) { ch.removes = append(ch.removes, entry) }

// Added returns the entries that the change has put. A renamed entry is in Added and in Removed.
func (ch *Change[T]) Added() []*Collection[T] { return ch.puts }

// Removed returns the removed entries; see Added.
func (ch *Change[T]) Removed() []*Collection[T] { return ch.removes }

// Garbage records a range of storage that no entry refers to after the change; see Catalog.Garbage.
func (ch *Change[T]) Garbage(r Range) error {
	return ch.txn.Put(garbageKey(r.Start), encodeGarbage(r))
}

// Txn returns the storage transaction that the change commits with.
func (ch *Change[T]) Txn() storage.Txn { return ch.txn }

// NewID returns a storage identifier that was never used, for an entry that a Join may put. If no
// Join puts it, the identifier may be returned again after a crash.
func (c *Catalog[T]) NewID() uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.next
	c.next++
	return id
}

// Update runs fn, makes its changes durable and publishes them. If fn or the commit fails, nothing
// is changed. Only one Update runs at a time, so fn must take little time.
func (c *Catalog[T]) Update(fn func(*Change[T]) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	txn := c.engine.Begin()
	defer txn.Rollback()
	return c.update(txn, storage.Durable, c.next, fn)
}

// Join is like Update for changes that are committed together with the changes in txn.
func (c *Catalog[T]) Join(txn storage.Txn, durability storage.Durability, fn func(*Change[T]) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.update(txn, durability, 0, fn)
}

// update runs fn and commits its changes. firstID is the next identifier that is stored. The caller
// holds the lock.
func (c *Catalog[T]) update(txn storage.Txn, durability storage.Durability, firstID uint32,
	fn func(*Change[T]) error,
) error {
	ch := &Change[T]{c: c, txn: txn}
	if err := fn(ch); err != nil {
		return err
	}
	if err := ch.write(firstID); err != nil {
		return err
	}
	if ch.txn.Len() > 0 {
		if err := ch.txn.Commit(durability); err != nil {
			return fmt.Errorf("commit catalog: %w", err)
		}
	}
	for _, e := range ch.removes {
		c.master.Delete(itemOf(e))
	}
	for _, e := range ch.puts {
		c.master.Set(itemOf(e))
	}
	c.published.Store(c.master.Copy())
	return nil
}

func (ch *Change[T]) write(firstID uint32) error {
	for _, e := range ch.removes {
		if err := ch.txn.Delete(entryKey(e.ID)); err != nil {
			return fmt.Errorf("remove %s: %w", e.Namespace(), err)
		}
	}
	for _, e := range ch.puts {
		old := ch.byID(e)
		e.Version = 1
		if old != nil {
			e.Version = old.Version + 1
		}
		if ch.c.attach != nil && !ch.attached[e] {
			attached, err := ch.c.attach(e, old)
			if err != nil {
				return err
			}
			e.Attached = attached
		}
		stored := encodeEntry(e)
		// Options can have the maximum nesting of a command, and the stored entry nests them
		// deeper.
		if err := bsonx.Validate(stored, bsonx.Limits{}); err != nil {
			return fmt.Errorf("the catalog cannot keep %s: %w", e.Namespace(), err)
		}
		if err := ch.txn.Put(entryKey(e.ID), stored); err != nil {
			return fmt.Errorf("store %s: %w", e.Namespace(), err)
		}
	}
	if ch.c.next != firstID {
		return ch.txn.Put(nextKey(), encodeNext(ch.c.next))
	}
	return nil
}

// byID returns the entry that e replaces: the entry with the same name, or the entry that this
// change renames.
func (ch *Change[T]) byID(e *Collection[T]) *Collection[T] {
	if old := ch.Lookup(e.DB, e.Name); old != nil && old.ID == e.ID {
		return old
	}
	for _, r := range ch.removes {
		if r.ID == e.ID {
			return r
		}
	}
	return nil
}
