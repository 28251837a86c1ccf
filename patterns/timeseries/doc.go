// Package timeseries keeps sums over time, such as views, bytes or cents by second or minute, and
// reads them back in any coarser steps.
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
// Something happens many times a second, and people want to see how much of it there was in each
// second of the last hour, each hour of the last month. A document for each event makes every chart
// a sum over millions. A document for each minute, with a sum for each second in it, is written by
// one increment and holds 60 points of a chart.
//
// When not to use it: for measurements, whose single values, averages and extremes matter (a
// time-series collection keeps them, and Native shows how little is left to do), and for reports by
// calendar days in a place's own time (package hits).
//
// # Three designs
//
//	Buckets  a document for each minute (or hour, or day) of a tag, which grows as its seconds come
//	         {tag: "/index.htm", timestamp: ISODate("2014-01-01T10:01:00Z"), total: 3, seconds: {"2": 1, "59": 2}}
//	Windows  a document for each six hours of a tag, whose shape never changes
//	         {tag, timestamp, visits: {minutes: [[0, 3, …], … 6 arrays of 60], hours: [3, 0, 0, 0, 0, 0]}}
//	Native   a time-series collection with a document for each sample, of which the server makes buckets
//	         {timestamp, tag, n: 1}
//
//	                      Buckets                      Windows                     Native
//	tells apart           seconds, minutes or hours    minutes                     milliseconds
//	a million samples     one update for each bucket   one update for each window  a million inserts
//	 of a second          and Add                      and Add
//	the single samples    are not kept                 are not kept                are kept
//	a day's minutes       1440 (or 24) documents       4 documents                 all samples
//	a document has        at most 2 KiB                8 KiB, at once              -
//	needs                 MongoDB 4.4                  MongoDB 4.4                 MongoDB 5.0
//
// All implement Series. Indexes of Buckets and Windows: {tag: 1, timestamp: 1}, unique, and
// {timestamp: 1}, which expires with Config.Keep; of Native: {tag: 1, timestamp: 1}.
//
// # Operations
//
//	Buckets.Add, Native.Add   1 command
//	Windows.Add               1 update for each window; 2 more for a new one
//	Query                     1 aggregate. Steps of whole buckets (whole hours, in Windows) are made of their totals
//	Last                      1 find
//	Preallocate               1 bulk of upserts, 1 count
//	PreallocateNext           1 distinct, and Preallocate for each tag
//
// Documents with zeros may be made beforehand: by Run, a job that does so before each hour for the
// tags that are in use, or with a small probability by each sample (Config.Prefill). On today's
// storage engines this saves no moving of documents; it spreads the inserts that otherwise all come
// with the first second of the hour. The server sums up; gaps are filled with zeros.
//
// # Guarantees
//
//   - The slots of a bucket sum up to its total, the minutes of a window to its hours, at all
//     times: one update changes both.
//   - A tag has one document for each span of time, however many processes make it at once: the
//     unique index sees to that.
//   - Making documents beforehand changes no sum.
//   - Add adds each sample exactly once where it returns no error, and at most once otherwise, on
//     servers with retryable writes (a replica set, a cluster, Sheaf; for Native from MongoDB 5.0
//     on).
//
// # What a crash leaves
//
// Nothing to repair. Where Add had samples of several documents, some of them may have theirs and
// others not; Windows may have a window of zeros; Preallocate may have made some of its documents.
//
// # Metrics
//
// timeseries.preallocated counts tags whose next documents Run has made.
//
// # Scaling
//
// All are sharded by {tag: 1, timestamp: 1}: writing is spread where tags are many, and a query
// goes to the shards of its tag. Reports may read from secondaries. A single tag that one
// document's updates cannot keep up with is written by fewer, larger Adds.
//
// # Source
//
// "The Little MongoDB Schema Design Book", time series (S37); "50 Tips and Tricks for MongoDB
// Developers", tips 7 (S45) and 8 (S46). The first leaves the total out of its update and of its
// preallocation, and its increment makes documents of no unique key; the second increments another
// path than its template has, and has room for one window of a page only. Filling documents with
// garbage that is removed again (tip 8) served storage engines that kept a document's room; it is
// not offered.
package timeseries
