package changelog

import (
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/sheafdb/sheaf/internal/arrival"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Who follows the log for the changes of one collection need not read it while nothing happens
// there: a commit tells the activity of its collection, of its database and of the store when it
// begins and when it is over. Changes of definitions, which are rare, have one activity of their
// own, and wake whoever follows something in their database.

// Activity is what happened to a namespace, in a database or anywhere.
type Activity struct {
	parent *Activity
	// under counts the commits that have begun and are not over; last is the greatest stamp of
	// those that are.
	under    atomic.Int64
	last     atomic.Uint64
	arrivals arrival.Signal
}

// Begin is called before a commit may become visible; End must follow.
func (a *Activity) Begin() {
	for ; a != nil; a = a.parent {
		a.under.Add(1)
	}
}

// End is called after the commit; stamp is 0 where it has failed.
func (a *Activity) End(stamp storage.Stamp) {
	for ; a != nil; a = a.parent {
		for last := a.last.Load(); uint64(stamp) > last && !a.last.CompareAndSwap(last, uint64(stamp)); {
			last = a.last.Load()
		}
		a.under.Add(-1)
		a.arrivals.Announce()
	}
}

// since reports whether there may have been a commit behind a stamp.
func (a *Activity) since(stamp storage.Stamp) bool {
	return a.under.Load() > 0 || a.last.Load() > uint64(stamp)
}

// Activities has an activity for every namespace and database that is in use.
type Activities struct {
	order *storage.Order
	all   *Activity
	ddl   Activity

	mu     sync.Mutex
	byName map[string]weak.Pointer[Activity]
	// watched counts the Watches, by database; those of everything are at the empty name.
	watched map[string]map[*Activity]int
}

// NewActivities returns the activities of a store whose commits have that order.
func NewActivities(order *storage.Order) *Activities {
	return &Activities{
		order: order, all: &Activity{}, byName: map[string]weak.Pointer[Activity]{},
		watched: map[string]map[*Activity]int{},
	}
}

// Of returns the activity of a collection, of a database where name is empty, or that of
// everything.
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

// named needs the lock.
func (s *Activities) named(name string, parent *Activity) *Activity {
	if a := s.byName[name].Value(); a != nil {
		return a
	}
	a := &Activity{parent: parent}
	a.last.Store(uint64(s.order.Last())) // what was before is not known
	s.byName[name] = weak.Make(a)
	runtime.AddCleanup(a, s.forget, name)
	return a
}

// forget removes an activity that nobody uses any more, unless there is another one of its name.
func (s *Activities) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName[name].Value() == nil {
		delete(s.byName, name)
	}
}

// announce wakes who watches something in a database, or everything.
func (s *Activities) announce(dbs map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for db := range dbs {
		for a := range s.watched[db] {
			a.arrivals.Announce()
		}
	}
}

// Change runs a change of the catalog, to which run adds the databases that it concerns, and "" if
// there is one. Whoever follows something in them is woken.
func (s *Activities) Change(run func(dbs map[string]bool) error) error {
	dbs := map[string]bool{}
	s.ddl.Begin()
	err := run(dbs)
	s.ddl.End(s.order.Last())
	s.announce(dbs)
	return err
}

// Reset says that nothing is known of commits before now.
func (s *Activities) Reset() { s.ddl.last.Store(uint64(s.order.Last())) }

// Watch follows what the log gets about a collection, a database where the name is empty, or
// everything where both are.
type Watch struct {
	of       *Activities
	db       string
	activity *Activity
}

// Watch begins to follow; Close must be called.
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

// Since reports whether there may be an entry that concerns the Watch behind a stamp, up to what
// was safe before the call.
func (w *Watch) Since(stamp storage.Stamp) bool {
	return w.activity.since(stamp) || w.of.ddl.since(stamp)
}

// Arrival returns a channel that is closed when there may be such an entry, and it is safe.
func (w *Watch) Arrival(behind storage.Stamp) <-chan struct{} {
	arrival, _ := w.activity.arrivals.Wait()
	last := storage.Stamp(max(w.activity.last.Load(), w.of.ddl.last.Load()))
	if last <= behind && w.of.ddl.under.Load() == 0 {
		return arrival
	}
	// A commit that was told is not safe before older ones are over, and a change of definitions
	// that has begun may not know of the Watch: those are waited for as all are.
	commit := w.of.order.SafeArrival()
	if safe := w.of.order.Safe(); safe <= behind || safe < last {
		return commit
	}
	now := make(chan struct{})
	close(now)
	return now
}
