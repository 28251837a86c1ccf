// Package timeseries keeps sums over time, for example views, bytes or cents by second or by
// minute, and reads them in any coarser steps.
//
//	views, err := timeseries.New(db, timeseries.Config{Keep: 30 * 24 * time.Hour})
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := views.EnsureIndexes(ctx); err != nil {
//		log.Fatal(err)
//	}
//	from := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
//	for second := range 40 {
//		view := timeseries.Sample{Tag: "/index.htm", At: from.Add(time.Duration(second) * time.Second), N: 1}
//		if err := views.Add(ctx, view); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// # The problem
//
// Something happens many times a second, and people want to see how often it happened in each
// second of the last hour, or in each hour of the last month. With a document for each event, every
// chart is a sum over millions of documents. With a document for each minute, which has a sum for
// each second, an event is one increment, and one document has 60 points of a chart.
//
// When not to use it: for measurements whose single values, averages and extremes matter (a
// time-series collection keeps them, and Native shows how little is left to do), and for reports by
// calendar days in a local time zone (package hits).
//
// # Three designs
//
//	Buckets  a document for each minute (or hour, or day) of a tag, which grows with its seconds
//	         {tag: "/index.htm", timestamp: ISODate("2014-01-01T10:01:00Z"), total: 3, seconds: {"2": 1, "59": 2}}
//	Windows  a document for each six hours of a tag, whose shape never changes
//	         {tag, timestamp, visits: {minutes: [[0, 3, …], … 6 arrays of 60], hours: [3, 0, 0, 0, 0, 0]}}
//	Native   a time-series collection with a document for each sample; the server stores them in buckets
//	         {timestamp, tag, n: 1}
//
//	                      Buckets                      Windows                     Native
//	resolution            seconds, minutes or hours    minutes                     milliseconds
//	a million samples     one update for each bucket   one update for each window  a million inserts
//	 of a second          and Add                      and Add
//	the single samples    are not kept                 are not kept                are kept
//	reads for a day       1440 (or 24) documents       4 documents                 all samples
//	a document has        at most 2 KiB                8 KiB, at once              -
//	needs                 MongoDB 4.4                  MongoDB 4.4                 MongoDB 5.0
//
// All three designs implement Series. Buckets and Windows have the indexes {tag: 1, timestamp: 1},
// unique, and {timestamp: 1}, which removes documents after Config.Keep. Native has the index {tag:
// 1, timestamp: 1}.
//
// # Operations
//
//	Buckets.Add, Native.Add   1 command
//	Windows.Add               1 update for each window; 2 more for a new one
//	Query                     1 aggregate; for steps of whole buckets (whole hours in Windows) it reads only the totals
//	Last                      1 find
//	Preallocate               1 bulk of upserts, 1 count
//	PreallocateNext           1 distinct, and Preallocate for each tag
//
// Documents with zeros can be created beforehand: by Run, a job that creates them before each hour
// for the tags that are in use, or by each sample with a small probability (Config.Prefill). With
// the storage engines of today this does not save the moving of documents. It distributes the
// inserts, which otherwise all happen in the first second of the hour. The server computes the sums
// of a query, and the program fills gaps with zeros.
//
// # Guarantees
//
//   - The slots of a bucket always sum up to its total, and the minutes of a window to its hours:
//     one update changes both.
//   - A tag has one document for each span of time, even if many processes create it at once: the
//     unique index prevents a second one.
//   - A document that is created beforehand changes no sum.
//   - If Add returns no error, it has added each sample exactly once. Otherwise it has added each
//     sample at most once. This needs a server with retryable writes (a replica set, a cluster,
//     Sheaf; for Native, MongoDB 5.0 or later).
//
// # After a crash
//
// A crash leaves nothing to repair. If Add had samples for several documents, some of the documents
// may have their samples and others not. Windows may have a window of zeros. Preallocate may have
// created some of its documents.
//
// # Metrics
//
// timeseries.preallocated is the number of tags whose next documents Run has created.
//
// # Scaling
//
// All collections are sharded by {tag: 1, timestamp: 1}: the writes are distributed if there are
// many tags, and a query goes to the shards of its tag. Reports may read from secondaries. If a
// single tag has more samples than updates of one document can follow, use fewer and larger Adds.
//
// # Source
//
// The patterns are in "The Little MongoDB Schema Design Book", time series (S37), and in "50 Tips
// and Tricks for MongoDB Developers", tips 7 (S45) and 8 (S46). The listings of the first book
// neither update nor preallocate the total, and their increment creates documents without a unique
// key. The listings of the second book increment another path than the template has, and have room
// for only one window of a page. Tip 8 fills documents with garbage and removes it again. This
// helped storage engines that kept the space of a document; the package does not offer it.
package timeseries
