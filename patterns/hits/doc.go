// Package hits counts hits of pages, or other frequent events, by minute, hour, day and month. A
// chart reads these counters and computes nothing.
//
//	counters, err := hits.New(db, hits.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := counters.EnsureIndexes(context.Background()); err != nil {
//		log.Fatal(err)
//	}
//	writer, err := counters.NewWriter(hits.WriterConfig{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	ctx, stop := context.WithCancel(context.Background())
//	done := make(chan error)
//	go func() { done <- writer.Run(ctx) }()
//
// # The problem
//
// A site stores each hit as a separate document. A chart of a day then reads a million documents.
// If hits are counted as they arrive, the chart needs one read. Each page has one document for each
// day, with a counter for each hour and minute. A hit is one update that increments three counters.
//
// When not to use it: for questions that nobody has thought of before (store the events: package
// eventlog, and sum them up later: package rollup); to count distinct visitors; for values whose
// average and extremes matter (use a time-series collection). Do not count in documents that are
// copied into many other documents, such as stock prices in portfolios.
//
// # The documents
//
//	hits.daily:   {_id: "20001010/site-1/apache_pb.gif",
//	               metadata: {date: ISODate("2000-10-10"), site: "site-1", page: "/apache_pb.gif"},
//	               daily: 5468426, hourly: {"0": 227850, …, "23": 20457},
//	               minute: {"0": {"0": 3612, …, "59": 3100}, …, "23": {"1380": 2790, …, "1439": 2819}},
//	               writers: {"6650…": 17}}
//	hits.monthly: {_id: "200010/site-1/apache_pb.gif", metadata: {date: ISODate("2000-10-01"), …},
//	               monthly: 68426000, daily: {"1": 5445326, …, "31": 5468000}}
//	indexes:      {"metadata.site": 1, "metadata.page": 1, "metadata.date": 1} of both,
//	              daily {"metadata.site": 1, "metadata.date": 1};
//	              daily {"metadata.date": 1}, a TTL index, with Config.Keep
//
// All counters are 64-bit integers. The keys are the hours and minutes since the start of the day
// in Config.Location: a day on which the clocks change has 23 or 25 hours. With Config.Form Flat,
// one document holds all minutes: {"0": 3612, …, "1439": 2819}. The field writers holds the number
// of the last batch of each process that has written to the day. A document of a day has at most
// 1500 minutes (24 KiB), and 40 bytes for each of these processes. A document of a month has less
// than 1 KiB.
//
// # Operations
//
//	Add              1 bulk of updates ($inc, upsert) of days, 1 find of their totals, 1 bulk of updates of months
//	Writer.Hit       nothing: it stores the hit in memory
//	Writer.Flush     as Add; 2 more bulks if days get their first hits
//	Preallocate      1 update ($setOnInsert, upsert)
//	Chart            1 find of a document for each day (minutes and hours) or each month (days and months)
//	Top              1 aggregate
//	Repair           1 aggregate of all days, 1 bulk for each day that is missing in its month, 1 update
//
// The cost of an Add depends on the number of documents, not of hits: 1000 hits of a page in the
// same minute are one $inc of 1000. With a Writer in each process, the counters of frequently hit
// pages need not be split.
//
// # Guarantees
//
//   - At all times, the minutes of a day sum up to its hours, and the hours to its total: one
//     update changes all three.
//   - A Writer counts each hit exactly once while its process lives, even if replies of the server
//     are lost: each document holds the number of the last batch of each writer, and ignores a
//     batch that it already has. There is one exception: hits of a day that began more than 48
//     hours ago, if Repair runs between a lost reply and the next flush.
//   - A process that dies loses at most the hits that its Writer has not flushed: the hits of one
//     Interval and of a flush while the server answers, and never more than MaxPending. If more
//     hits are waiting, Hit returns ErrFull. No hit is dropped silently.
//   - Add without a Writer counts each hit exactly once if it returns no error, and at most once
//     otherwise. This needs a server with retryable writes (a replica set, a sharded cluster or
//     Sheaf).
//   - A month stores the greatest total that it has received for each day. It receives a day's
//     total after each update of the day. Until then it is behind the day. If a process dies in
//     between, the month stays behind until the next hit of the day, or until Repair.
//   - Preallocate changes no counter.
//
// Counters never decrease. To correct counters, count the events of an event log again, into other
// collections.
//
// # After a crash
//
//	before the update of the days        nothing has changed, or there are documents of days without hits
//	during the update of the days        some days have their hits and others do not, each completely or not at all
//	before the update of the months      months are behind; the next hit or Repair updates them
//
// # Metrics
//
// The package counts hits.written, hits.dropped (hits refused with ErrFull) and hits.prefilled
// (documents), and observes the duration hits.flush.
//
// # Scaling
//
// Both collections are sharded by {metadata.site, metadata.page, metadata.date}. Updates and charts
// of a page go to one shard; the find of the totals goes to all shards. Charts may be read from
// secondaries.
//
// # Source
//
// The pattern is in "MongoDB Applied Design Patterns", pre-aggregated reports (S13), in "50 Tips
// and Tricks for MongoDB Developers", tip 12 (S50), and in "The Little MongoDB Schema Design Book",
// the view counter of an auction (S63). The book increments the day and the month with two updates;
// after a crash between them they differ for ever. Here the month stores the day's total, which can
// be sent again. The book's prefilling of the next day's document, on a hit with a small
// probability, is Config.Prefill. With today's storage engines it does not avoid moving documents,
// but it avoids the burst of inserts at midnight.
package hits
