// Package comments keeps discussions on anything: posts, replies to replies, edits, deletions,
// lists by time or by thread.
//
//	c, err := comments.New(db, comments.Config{Design: comments.Pages})
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := c.EnsureIndexes(ctx); err != nil {
//		log.Fatal(err)
//	}
//	on := comments.Target{Kind: "posts", ID: "hello-world"}
//	first, err := c.Post(ctx, on, "ada", "First!")
//	if err != nil {
//		log.Fatal(err)
//	}
//
// # The problem
//
// A post has five comments or fifty thousand. One document for each comment reads a thousand
// documents for a thousand comments; one document for all of them grows without end. Between the
// two are pages. Which is right depends on how a discussion is read, so the three designs have the
// same operations, and Config.Design chooses.
//
// When not to use it: where only the latest few are shown beside the post. Then keep those in the
// post: package slicecache.
//
// # The documents
//
//	Documents
//	comments: {_id: "019de368f9e8000036f03869", target: {kind: "posts", id: 1}, parent: "", path: "019de368f9e8000036f03869", author: "ada",
//	           text: "…", posted: ISODate("…")}
//	indexes {target: 1, _id: 1, deleted: 1}, {target: 1, path: 1}
//
//	Embedded
//	discussions: {_id: {kind: "posts", id: 1}, count: 2, comments: [{_id: "019d…", parent: "", path: "019d…", …}, …]}
//
//	Pages
//	comment_pages: {_id: ObjectId("…"), target: {kind: "posts", id: 1}, page: 1, count: 100, comments: [{_id: "019d…", …}, …]}
//	indexes {target: 1, page: 1} (unique), {target: 1, "comments._id": 1}
//
// A comment's _id begins with the time, and its path joins the _ids of what it replies to with its
// own: the order of paths is the order of a thread, each comment above the replies to it. A target
// is named by a kind and an _id, so that comments can be on anything.
//
// # Operations
//
//	              Documents            Embedded                 Pages
//	Post          1 insert             1 upsert                 1 find of the last page's number, 1 upsert; behind a full
//	                                                            page 1 more of each
//	Reply         1 find more, for all designs
//	Edit, Delete  1 update             1 update                 1 update
//	Get           1 find               1 find of an element     1 find of an element
//	Page          1 find, with After 2 1 aggregate, which cuts  1 find of the pages that it spans, with After 2
//	Thread        1 to 3 finds         1 or 2 finds; the whole  1 or 2 finds; all pages are read
//	                                   document is read
//	Count         1 aggregate          1 aggregate              1 aggregate over the pages
//
// Which one? Documents: long discussions with threads. Embedded: short ones, whose limit
// (Config.Limit) may be told to people. Pages: long ones that are read from the beginning or by
// their numbers, a hundred comments with one read.
//
// # Guarantees
//
//   - A comment is posted, edited or deleted by one write to one document: it has happened or not.
//     A process that dies leaves nothing to mend; one that did not hear the answer does not know
//     whether its comment is there, and the driver's repetition does not double it.
//   - Pages are full but for the last one, and never more than full, however many post at once. So
//     the place of a comment follows from its number, and never changes: deleted ones keep their
//     place.
//   - The replies to a comment come after it in a thread, and in the order of the clocks of those
//     who wrote them.
//   - Of two edits at once the last one wins. An edit never brings a deleted text back.
//
// # After a crash
//
//	Post, Reply    one write, behind reads: the comment is there or not; the driver's repetition does not double it
//	Edit, Delete   one write: it has happened or not, and may be repeated
//
// There is nothing to repair. A process that did not hear the answer to a Post looks at the last
// comments before it posts again.
//
// # Limits
//
// Texts have at most Config.MaxText bytes, replies at most Config.MaxDepth levels; New refuses
// numbers with which a document could grow beyond 15 MB. PageSize cannot change once there are
// pages.
//
// # Scaling
//
// All that is on one target is on one shard: {target: 1, _id: 1}, {_id: "hashed"} with Embedded,
// {target: 1, page: 1} with Pages. Lists serve well from secondaries.
//
// # Source
//
// "MongoDB Applied Design Patterns", chapter 6, has the three designs; "The Little MongoDB Schema
// Design Book" the buckets of 50; "50 Tips and Tricks for MongoDB Developers", tip 17, comments on
// anything. The first one's pages can exceed their size when several post at once, and a counter of
// pages in the post can disagree with them: here the upsert of a full page fails by its unique
// index, and there is no counter. It nests replies in replies, which the server's limit of depth
// ends; here they are flat, with paths.
package comments
