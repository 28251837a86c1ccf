// Package slicecache has two caches that are documents: Latest keeps the newest items of something
// inside its own document, and Cache keeps values that expire.
//
//	comments, err := slicecache.NewLatest(db, slicecache.LatestConfig[string]{Max: 2})
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := comments.EnsureIndexes(ctx); err != nil {
//		log.Fatal(err)
//	}
//	for i, text := range []string{"first", "second", "third"} {
//		if err := comments.Add(ctx, 7, &slicecache.Item[string]{ID: i, Body: text}); err != nil {
//			log.Fatal(err)
//		}
//	}
//	if err := comments.Delete(ctx, 2); err != nil {
//		log.Fatal(err)
//	}
//
// # The problem
//
// A blog shows each post with its ten latest comments. Comments are documents of their own,
// thousands for some posts; but a page should be one read. So the post has a copy of the latest
// ten. Two updates then belong together, by processes that may die between them and run at once;
// comments are edited and deleted; and the copy must neither grow nor differ.
//
// A value that is costly to make (the page, a report, another service's answer) is kept for a
// while, for all processes. When it expires under load, a hundred processes would make it at once.
//
// When not to use them: Latest for items that are hardly ever read with their parent, or change all
// the time; Cache for what a process's own memory can hold as well.
//
// # The documents
//
//	posts:    {_id: 7, title: "…", latest: [{_id: ObjectId("…"), at: ISODate("…"), body: {message: "…"}}, …], latestRev: NumberLong(31)}
//	comments: {_id: ObjectId("…"), at: ISODate("…"), body: {message: "…"}, parent: 7}
//	cache:    {_id: "front-page", value: {…}, fresh: ISODate("…"), expires: ISODate("…"), tags: ["news"],
//	           loader: {token: ObjectId("…"), until: ISODate("…")}}
//	indexes:  comments {parent: 1, at: 1, _id: 1}; cache {expires: 1}, which expires, and {tags: 1}, sparse
//
// latest has the oldest first, at most Max of them, ordered by at and _id; latestRev counts its
// changes. With Preallocate it has templates, {_id: null, at: ISODate("1970-01-01"), body: …},
// which make room for items one by one: a post then keeps about its size. A post is as large as its
// own fields and Max items.
//
// # Operations
//
//	Latest.Add        1 insert, 1 update of the parent ($push with $each, $sort and $slice)
//	Latest.Show       1 find. Older ones are read by package paging, by parent
//	Edit, Delete      1 findAndModify of the item, and Rebuild
//	Rebuild           2 finds, 1 update; again where the parent changed meanwhile
//	Cache.Get         1 find; where the value is missing, 2 updates around loading it. Those who wait: 1 find and 1 update for each Poll
//	Set, Delete       1 command
//
// # Guarantees of Latest
//
//   - Once the operations are over, each parent shows its latest items, in whatever order they
//     came: the order is in the items.
//   - An item is shown once, also if it is added again after an error.
//   - A process that dies leaves a parent that does not show its newest item, or still shows one
//     that was edited or deleted; Repair finds and mends them, at any time, and so does the next
//     Rebuild of the parent. Or it leaves an item that was added to a parent that does not exist;
//     Repair removes it.
//   - An exception: an item that others edit or delete before the Add of it has returned may be
//     shown as it was, until the next Rebuild.
//
// # Guarantees of Cache
//
//   - Get returns no value for longer than TTL, and Stale where that is set, after it was made. By
//     whose clocks, their differences add to that.
//   - One caller at a time loads a value, as long as loading takes no longer than Lease. A caller
//     that dies is replaced after that.
//   - After Delete, DeleteTag or Set have returned, no Get returns what was there before; also one
//     that was being loaded then is not kept. Only the caller who was loading it gets it.
//   - The server removes entries some time after they expire; nobody sees them until then.
//
// Nothing that a crash leaves in a Cache needs to be repaired: leases end.
//
// # Metrics
//
// slicecache.hits, slicecache.misses (which load), slicecache.stale, and the duration
// slicecache.load.
//
// # Scaling
//
// Items are sharded by {parent: 1, _id: 1}, so that those of a parent are together; parents as
// their other uses ask for (a blog's posts: {blogId: 1, _id: 1}); a cache by {_id: "hashed"}.
// Parents may be read from secondaries where their delay is tolerated; a cache is read from the
// primary, or Get waits for what it has just missed.
//
// # Source
//
// "The Little MongoDB Schema Design Book", array slice cache and time-to-live indexes. The book's
// update has no $push; its cache is in the order in which updates arrive, and stays without a
// comment whose process died.
package slicecache
