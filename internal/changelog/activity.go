package changelog

import (
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/sheafdb/sheaf/internal/arrival"
	"github.com/sheafdb/sheaf/internal/storage"
)

// A change stream on one collection need not read the oplog while nothing happens there. A commit
// notifies the activity of its collection, of its database and of the store, when it begins and
// when it ends. Changes of the catalog, which are rare, share one activity, and wake all change
// streams of the databases that they affect.

// Activity tracks the commits of a namespace, of a database, or of the whole store.
type Activity struct {
	parent *Activity
	// under counts the commits that have begun and not ended.
	under atomic.Int64
	// last is the greatest stamp of the commits that have ended.
	last     atomic.Uint64
	arrivals arrival.Signal
}

// Begin is called before a commit may become visible. The caller must call End afterwards.
func (a *Activity) Begin() {
	for ; a != nil; a = a.parent {
		a.under.Add(1)
	}
}

// End is called after the commit. stamp is 0 if the commit has failed.
func (a *Activity) End(stamp storage.Stamp) {
	for ; a != nil; a = a.parent {
		for last := a.last.Load(); uint64(stamp) > last && !a.last.CompareAndSwap(last, uint64(stamp)); {
			last = a.last.Load()
		}
		a.under.Add(-1)
		a.arrivals.Announce()
	}
}

// since reports whether there may be a commit with a greater stamp.
func (a *Activity) since(stamp storage.Stamp) bool {
	return a.under.Load() > 0 || a.last.Load() > uint64(stamp)
}

// Activities holds the activities of all namespaces and databases that are in use.
type Activities struct {
	order *storage.Order
	all   *Activity
	ddl   Activity

	mu     sync.Mutex
	byName map[string]weak.Pointer[Activity]
	// watched counts the Watches of each activity, by database. The key "" is for Watches of the
	// whole store.
	watched map[string]map[*Activity]int
}

// NewActivities returns the activities of a store. order is the order of its commits.
func NewActivities(order *storage.Order) *Activities {
	return &Activities{
		order: order, all: &Activity{}, byName: map[string]weak.Pointer[Activity]{},
		watched: map[string]map[*Activity]int{},
	}
}

// Of returns the activity of a collection, of a database if name is empty, or of the whole store if
// db is empty.
func (s *Activities) Of(db, name string) *Activity {
	if db == "" {
		return s.all
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	parent := s.named(db, s.all)
	if name == "" {
		return parent
	}
	return s.named(db+"."+name, parent)
}

// named returns the activity of a name. It creates the activity if it does not exist. The caller
// holds the lock.
func (s *Activities) named(name string, parent *Activity) *Activity {
	if a := s.byName[name].Value(); a != nil {
		return a
	}
	a := &Activity{parent: parent}
	a.last.Store(uint64(s.order.Last())) // earlier commits are unknown
	s.byName[name] = weak.Make(a)
	runtime.AddCleanup(a, s.forget, name)
	return a
}

// forget removes a name whose activity nobody uses any more, unless it has a new activity.
func (s *Activities) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName[name].Value() == nil {
		delete(s.byName, name)
	}
}

// announce wakes the Watches of the databases; "" stands for Watches of the whole store.
func (s *Activities) announce(dbs map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for db := range dbs {
		for a := range s.watched[db] {
			a.arrivals.Announce()
		}
	}
}

// Change runs a change of the catalog. run adds to dbs the databases that the change affects, and
// "" if it affects any. Change then wakes the change streams of these databases.
func (s *Activities) Change(run func(dbs map[string]bool) error) error {
	dbs := map[string]bool{}
	s.ddl.Begin()
	err := run(dbs)
	s.ddl.End(s.order.Last())
	s.announce(dbs)
	return err
}

// Reset makes all activities treat earlier commits as unknown.
func (s *Activities) Reset() { s.ddl.last.Store(uint64(s.order.Last())) }

// Watch tells a change stream when the oplog may have new entries about a collection, about a
// database if the name is empty, or about the whole store if both are empty.
type Watch struct {
	of       *Activities
	db       string
	activity *Activity
}

// Watch starts a Watch. The caller must close it.
func (s *Activities) Watch(db, name string) *Watch {
	w := &Watch{of: s, db: db, activity: s.Of(db, name)}
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.of.watched[db] == nil {
		w.of.watched[db] = map[*Activity]int{}
	}
	w.of.watched[db][w.activity]++
	return w
}

// Close ends a Watch.
func (w *Watch) Close() {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	watched := w.of.watched[w.db]
	if n := watched[w.activity]; n > 1 {
		watched[w.activity] = n - 1
		return
	}
	delete(watched, w.activity)
	if len(watched) == 0 {
		delete(w.of.watched, w.db)
	}
}

// Since reports whether there may be an entry for the Watch with a stamp greater than stamp. It
// covers the entries that were safe before the call.
func (w *Watch) Since(stamp storage.Stamp) bool {
	return w.activity.since(stamp) || w.of.ddl.since(stamp)
}

// Arrival returns a channel that is closed when there may be an entry for the Watch with a stamp
// greater than behind, and the entry is safe to read.
func (w *Watch) Arrival(behind storage.Stamp) <-chan struct{} {
	arrival, _ := w.activity.arrivals.Wait()
	last := storage.Stamp(max(w.activity.last.Load(), w.of.ddl.last.Load()))
	if last <= behind && w.of.ddl.under.Load() == 0 {
		return arrival
	}
	// A commit that was announced is not safe before older commits have ended. A change of the
	// catalog that has begun may not know this Watch. In both cases the channel for the next safe
	// commit of the whole store is returned.
	commit := w.of.order.SafeArrival()
	if safe := w.of.order.Safe(); safe <= behind || safe < last {
		return commit
	}
	now := make(chan struct{})
	close(now)
	return now
}
