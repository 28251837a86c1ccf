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
// A site logs each hit as a document of its own. A chart of a day then reads a million of them.
// Counting as the hits come makes the chart one read: each page has a document per day, with a
// counter for each hour and minute in it, and a hit is one update that increments three of them.
//
// When not to use it: to answer questions that nobody has thought of before (log the events:
// package eventlog; sum them up later: package rollup), to count distinct visitors, or to measure
// values whose average and extremes matter (a time-series collection). Do not count in documents
// that many readers hold copies of, such as stock prices in portfolios.
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
//	              daily {"metadata.site": 1, "metadata.date": 1}; daily {"metadata.date": 1}, which expires, with Config.Keep
//
// All counters are longs. Keys are the hours and minutes since the day began in Config.Location: a
// day on which clocks change has 23 or 25 hours. With Config.Form Flat, minutes stand in one
// document: {"0": 3612, …, "1439": 2819}. writers has the number of the last batch of each process
// that wrote to the day. A document of a day has at most 1500 minutes, or 24 KiB, and 40 bytes for
// each of those processes; one of a month less than 1 KiB.
//
// # Operations
//
//	Add              1 bulk of updates ($inc, upsert) of days, 1 find of their totals, 1 bulk of updates of months
//	Writer.Hit       nothing: it notes the hit in memory
//	Writer.Flush     as Add; where days are hit for the first time, 2 bulks more
//	Preallocate      1 update ($setOnInsert, upsert)
//	Chart            1 find: of a document for each day (minutes and hours), or each month (days and months)
//	Top              1 aggregate
//	Repair           1 aggregate of all days, 1 bulk for each day that its month has not, 1 update
//
// One Add with many hits costs as much as its documents, not as its hits: 1000 hits of a page in a
// minute are one $inc of 1000. Use a Writer in each process, and hot pages need no splitting of
// their counters.
//
// # Guarantees
//
//   - The minutes of a day sum up to its hours, and these to its total, at all times: one update
//     changes all three.
//   - A Writer counts each hit exactly once as long as its process lives, also where answers of the
//     server are lost: each document has the number of the last batch of each writer, and takes
//     none twice. Hits of a day that is over for more than 48 hours are an exception if Repair runs
//     between the loss of an answer and the next flush.
//   - A process that dies loses at most the hits that its Writer has not flushed: those of one
//     Interval and of the duration of a flush while the server answers, and never more than
//     MaxPending. Beyond that Hit returns ErrFull; nothing is dropped silently.
//   - Add without a Writer counts each hit exactly once where it returns no error, and at most once
//     otherwise, on servers with retryable writes (a replica set, a cluster, Sheaf).
//   - A month has of each day the greatest total that it was told. It is told after each update:
//     until then, and if a process dies in between, it is behind its day until the next hit of the
//     day, or Repair.
//   - Preallocate changes no counter.
//
// Counters never go down. A correction is made in an event log, from which they are counted anew
// into other collections.
//
// # What a crash leaves
//
//	before the update of the days        nothing, or documents of days without hits
//	in the middle of it                  some days have their hits, others have not, each wholly or not at all
//	before the update of the months      months that are behind; Repair, or the next hit, brings them up
//
// # Metrics
//
// hits.written, hits.dropped (by ErrFull), hits.prefilled (documents), and the duration hits.flush.
//
// # Scaling
//
// Both collections are sharded by {metadata.site, metadata.page, metadata.date}: updates and charts
// of a page go to one shard, and the find of the totals to all. Charts may be read from
// secondaries.
//
// # Source
//
// "MongoDB Applied Design Patterns", pre-aggregated reports (S13); "50 Tips and Tricks for MongoDB
// Developers", tip 12 (S50); "The Little MongoDB Schema Design Book", the view counter of an
// auction (S63). The book updates the day and the month by two increments, between which a crash
// parts them for ever; here the month takes the day's total, so that it may be told again. The
// book's prefilling of the next day's document, on a hit with a small probability, is there
// (Config.Prefill); on today's storage engines it saves the burst of inserts at midnight, not the
// moving of documents.
package hits
