// Package slicecache has two caches that are stored in documents: Latest stores copies of the
// newest items of a parent in the parent's document, and Cache stores values that expire.
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
// A blog shows each post with its ten latest comments. Comments are documents of their own, and a
// post may have thousands. But a page should need only one read, so the post holds a copy of the
// latest ten comments. Then two updates belong together. The process may die between them, and
// several processes may run at once. Comments are edited and deleted. The copy must never grow, and
// must never differ from the comments.
//
// A value that is costly to make (a page, a report, an answer of another service) is stored for
// some time, for all processes. When it expires under load, a hundred processes would make it at
// once.
//
// When not to use them: Latest for items that are seldom read together with their parent, or that
// change all the time; Cache for values that a process can keep in its own memory.
//
// # The documents
//
//	posts:    {_id: 7, title: "…", latestRev: NumberLong(31),
//	           latest: [{_id: ObjectId("…"), at: ISODate("…"), body: {message: "…"}}, …]}
//	comments: {_id: ObjectId("…"), at: ISODate("…"), body: {message: "…"}, parent: 7}
//	cache:    {_id: "front-page", value: {…}, fresh: ISODate("…"), expires: ISODate("…"), tags: ["news"],
//	           loader: {token: ObjectId("…"), until: ISODate("…")}}
//	indexes:  comments {parent: 1, at: 1, _id: 1}; cache {expires: 1}, which expires, and {tags: 1}, sparse
//
// The array latest has at most Max items in the order of at and _id, the oldest first. latestRev
// counts its changes. With Preallocate the array begins with templates, {_id: null, at:
// ISODate("1970-01-01"), body: …}, which items replace one by one: the size of a post then hardly
// changes. A post has its own fields and at most Max items.
//
// # Operations
//
//	Latest.Add        1 insert, 1 update of the parent ($push with $each, $sort and $slice)
//	Latest.Show       1 find; read older items with package paging, by parent
//	Edit, Delete      1 findAndModify of the item, and Rebuild
//	Rebuild           2 finds, 1 update; repeated if the parent changes meanwhile
//	Cache.Get         1 find; if the value is missing, 2 updates around the load;
//	                  a waiting caller: 1 find and 1 update for each Poll
//	Set, Delete       1 command
//
// # Guarantees of Latest
//
//   - When no operation is under way, each parent shows its latest items, in whatever order they
//     were added: the items themselves contain their order.
//   - An item is shown once, even if it is added again after an error.
//   - A process that dies may leave a parent that does not show its newest item, or still shows an
//     item that was edited or deleted. Repair corrects this at any time, and so does the next
//     Rebuild of the parent. The process may also leave an item of a parent that does not exist;
//     Repair removes it.
//   - There is one exception: if an item is edited or deleted before its Add has returned, the
//     parent may show the old item until the next Rebuild.
//
// # Guarantees of Cache
//
//   - Get returns a value for at most TTL plus Stale after it was made. Differences between the
//     clocks of processes add to this time.
//   - One caller at a time loads a value, if loading takes no longer than Lease. After Lease
//     another caller replaces a caller that died.
//   - After Delete, DeleteTag or Set has returned, no Get returns the old value. A value that was
//     being loaded at that time is not stored; only the caller that loaded it gets it.
//   - The server removes entries some time after they expire. Get does not return them in that
//     time.
//
// A crash leaves nothing to repair in a Cache: leases end.
//
// # Metrics
//
// The package counts slicecache.hits, slicecache.misses (calls that load) and slicecache.stale, and
// observes the duration slicecache.load.
//
// # Scaling
//
// Shard items by {parent: 1, _id: 1}, so that the items of a parent are together. Shard parents as
// their other uses require (posts of a blog: {blogId: 1, _id: 1}), and a cache by {_id: "hashed"}.
// Parents may be read from secondaries if a delay is acceptable. Read a cache from the primary: on
// a secondary, Get would wait for a value that was just stored.
//
// # Source
//
// The pattern is in "The Little MongoDB Schema Design Book", array slice cache and time-to-live
// indexes. The book's update has no $push. Its cache is in the order in which updates arrive, and
// never gets a comment whose process died.
package slicecache
