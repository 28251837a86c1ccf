// Package comments stores discussions on documents of any kind: comments, replies to replies,
// edits, deletions, and lists by time or by thread.
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
// A post may have five comments or fifty thousand. With one document for each comment, a list of a
// thousand comments reads a thousand documents. With one document for all comments, that document
// grows without limit. Pages are between the two. The best design depends on how discussions are
// read. So the three designs have the same operations, and Config.Design selects one.
//
// When not to use it: if only the latest few comments are shown with the post. Then store them in
// the post: package slicecache.
//
// # The documents
//
//	Documents
//	comments: {_id: "019de368f9e8000036f03869", target: {kind: "posts", id: 1}, parent: "",
//	           path: "019de368f9e8000036f03869", author: "ada", text: "…", posted: ISODate("…")}
//	indexes {target: 1, _id: 1, deleted: 1}, {target: 1, path: 1}
//
//	Embedded
//	discussions: {_id: {kind: "posts", id: 1}, count: 2,
//	              comments: [{_id: "019d…", parent: "", path: "019d…", …}, …]}
//
//	Pages
//	comment_pages: {_id: ObjectId("…"), target: {kind: "posts", id: 1}, page: 1, count: 100,
//	                comments: [{_id: "019d…", …}, …]}
//	indexes {target: 1, page: 1} (unique), {target: 1, "comments._id": 1}
//
// The _id of a comment begins with the time. The path of a comment joins the _ids of all comments
// above it and its own _id. The order of paths is the order of a thread: each comment precedes its
// replies. A target is named by a kind and an _id, so that any document can have comments.
//
// # Operations
//
//	              Documents            Embedded                 Pages
//	Post          1 insert             1 upsert                 1 find of the last page's number, 1 upsert;
//	                                                            1 more of each after a full page
//	Reply         1 more find with all designs
//	Edit, Delete  1 update             1 update                 1 update
//	Get           1 find               1 find of an element     1 find of an element
//	Page          1 find; 2 with After 1 aggregate, which cuts  1 find of the pages in the range; 2 with After
//	Thread        1 to 3 finds         1 or 2 finds; reads the  1 or 2 finds; reads all pages
//	                                   whole document
//	Count         1 aggregate          1 aggregate              1 aggregate over the pages
//
// Which design to choose? Documents is for long discussions that are read as threads. Embedded is
// for short discussions, whose limit (Config.Limit) users may know. Pages is for long discussions
// that are read from the beginning or by page number: one read returns a hundred comments.
//
// # Guarantees
//
//   - One write to one document posts, edits or deletes a comment: it has happened or not. A
//     process that dies leaves nothing to repair. If a reply of the server is lost, the process
//     does not know whether its comment is stored; the driver's retry does not store it twice.
//   - All pages but the last are full, and no page is more than full, however many users post at
//     once. So the position of a comment follows from its number and never changes: deleted
//     comments keep their place.
//   - In a thread, the replies to a comment follow it, in the order of the clocks of the processes
//     that stored them.
//   - If two edits happen at once, the last one wins. An edit never restores a deleted text.
//
// # After a crash
//
//	Post, Reply    one write, after reads: the comment is stored or not; the driver's retry does not store
//	               it twice
//	Edit, Delete   one write: it has happened or not, and may be repeated
//
// There is nothing to repair. If the reply to a Post was lost, look at the last comments before you
// post again.
//
// # Limits
//
// A text has at most Config.MaxText bytes, and replies have at most Config.MaxDepth levels. New
// refuses a configuration with which a document could exceed 15 MiB. PageSize cannot change after
// the first page is stored.
//
// # Scaling
//
// All comments on a target are on one shard. The shard keys are {target: 1, _id: 1} with Documents,
// {_id: "hashed"} with Embedded, and {target: 1, page: 1} with Pages. Lists may be read from
// secondaries.
//
// # Source
//
// The three designs are in "MongoDB Applied Design Patterns", chapter 6. "The Little MongoDB Schema
// Design Book" has buckets of 50 comments, and "50 Tips and Tricks for MongoDB Developers", tip 17,
// has comments on documents of any kind. In the first book, pages can exceed their size if several
// users post at once, and a counter of pages in the post can differ from the pages. Here a unique
// index makes the upsert into a full page fail, and there is no such counter. That book also nests
// replies in replies, until the server's limit of nesting depth; here replies are flat, with paths.
package comments
