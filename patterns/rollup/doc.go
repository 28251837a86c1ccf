// Package rollup sums up events by hour, day, week, month and year, level by level: events to
// hours, hours to days, days to weeks and months, and months to years.
//
//	sessions, err := rollup.New(db, rollup.Config{Env: patterns.Env{Clock: clock}}) // a program leaves Env out
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := sessions.EnsureIndexes(ctx); err != nil {
//		log.Fatal(err)
//	}
//	for _, event := range events {
//		if err := sessions.Record(ctx, event); err != nil {
//			log.Fatal(err)
//		}
//		clock.Advance(time.Hour)
//		if _, err := sessions.Update(ctx); err != nil { // a program calls Run instead
//			log.Fatal(err)
//		}
//	}
//
// # The problem
//
// A report of a year cannot read all events of the year. Each level of sums is computed from the
// level below, as soon as something has changed there. Events arrive late, updates fail in the
// middle, and two updates may run at once. The sums must always come out the same.
//
// When not to use it: for counters that must be right within seconds and are only incremented
// (package hits); for medians or distinct visitors, because they cannot be summed up; for events
// that are changed or deleted one by one.
//
// # The documents
//
//	events:        {_id, userid: "u1", ts: ISODate("2000-10-10T10:05:00Z"), length: 10,
//	                at: ISODate("2000-10-10T10:06:12Z")}
//	stats.hourly:  {_id: {u: "u1", d: ISODate("2000-10-10T10:00:00Z")},
//	                value: {total: 30, count: 2, mean: 15.0, ts: ISODate("…")}}
//	stats.daily, stats.weekly, stats.monthly, stats.yearly: the same
//	stats.state:   {_id: "arrivals", until: ISODate("2000-10-10T11:04:00Z")}
//	indexes:       events {at: 1}, {userid: 1, ts: 1}, {ts: 1} (a TTL index with Config.Keep);
//	               each level {"_id.u": 1, "_id.d": 1}
//
// ts is the time at which an event happened, and at the time at which it was recorded. Config sets
// the names of an event's fields. Values are integers: money in cents, times in milliseconds. All
// documents have a constant size, except for the key, which the program chooses.
//
// # Operations
//
//	Record      1 insert
//	Update      1 find of the state; then for each hour of arrivals: 1 find, 1 aggregate that lists the keys and
//	            the hours in which these events happened, 1 aggregate with $merge for each of these hours, days,
//	            weeks, months and years (for each 1000 keys), and 1 update of the state
//	Recompute   the same for the hours in which events happened, without the state
//	Stats       1 find
//
// # Guarantees
//
//   - No event is counted twice: an update does not add to existing sums. It computes each changed
//     hour, day, week, month or year again from all its parts. An update may be repeated completely
//     or in part.
//   - No event is left out: the state advances after the sums are written, and an event belongs to
//     exactly one span of arrivals. This requires that an event becomes visible to the updating
//     process within Settle after its time of arrival, by the clocks of the recording and updating
//     processes. Recompute finds events that became visible later.
//   - A late event changes the sums of the time in which it happened, however long ago, if the
//     other events of that hour are still stored.
//   - Several processes may update at once: a document is replaced only by a document with a
//     greater count, and events are only added. To correct a sum, record an event with a negative
//     value.
//   - However often and whenever updates run, the sums equal the sums of a single run over all
//     events.
//
// The command mapReduce (Config.MapReduce) computes the same sums if only one process at a time
// updates (package lock): its output cannot tell which of two documents is newer. It is slower.
// MongoDB has deprecated it and removed it from its latest development version (ErrMapReduce).
//
// # After a crash
//
// If the process dies before the state has advanced, lower levels may include events that higher
// levels do not include yet. The next Update begins with the same events and completes all levels.
// There is nothing to repair.
//
// # Metrics
//
// rollup.hours counts the hours of keys that Run has summed up.
//
// # Scaling
//
// Shard events by {userid, ts}, and levels by {_id}. Reports may read from secondaries. Updates
// must not: they read documents that were just written. The keys of one hour of arrivals are kept
// in memory; 10 million keys take about 2 GiB.
//
// # Source
//
// The pattern is in "MongoDB Applied Design Patterns", hierarchical aggregation (S14). The book
// adds the new documents of a level to the next higher level, by mapReduce with out: {reduce}. If
// the process dies before last_run is stored, events are counted twice. An hour that changes in two
// runs is also counted twice, because the whole hour is added to its day each time. The book's time
// limits depend on the processes' clocks, too.
package rollup
