// Package paging walks through sorted documents page by page, forwards and backwards, without skip.
//
//	pages, err := paging.New[Post](db, paging.Config{
//		Collection: "posts", Equal: bson.D{{"thread", 7}}, Sort: bson.D{{"date", 1}}, Size: 2,
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//	page, err := pages.First(ctx)
//	if err != nil {
//		log.Fatal(err)
//	}
//	fmt.Println(page.Items[0].Text, page.Items[1].Text)
//	page, err = pages.After(ctx, page.Next) // Next is nil after the last page
//	if err != nil {
//		log.Fatal(err)
//	}
//
// # The problem
//
// find().sort().skip(20 * page).limit(20) reads all documents before the page and throws them away.
// It shows a document twice, or never, if other documents are inserted or removed meanwhile. A page
// that begins after the last document of the page before costs the same everywhere, and other
// writes do not move it.
//
// When not to use it: for "page 17 of 230" links. A jump to a page needs the number of documents
// before that page.
//
// # The documents
//
// A pager works with any collection. It orders the documents by the fields of Sort, and then by
// _id, so that no two documents are equal:
//
//	posts: {_id: ObjectId("…"), thread: 7, date: ISODate("…"), text: "…"}
//	index: {thread: 1, date: 1, _id: 1}   // the fields of Equal, then of Sort, then _id
//
// A field of Sort may be missing, null, or of different types. Arrays, regular expressions and code
// are refused (ErrType): MongoDB sorts an array by one of its elements, and does not compare
// regular expressions and code with $gt.
//
// # Operations
//
//	First, Last, After, Before   1 find, of one document more than the page has
//
// A program can send a Cursor as text to its clients and take it back. The cursor holds the values
// of the sort fields of a document, and not its position. The document may have been removed when
// the cursor is used.
//
// # Guarantees
//
//   - A walk in one direction shows each document exactly once if the document exists during the
//     whole walk and its sort fields do not change.
//   - A walk shows documents that are inserted after its current position. It does not show
//     documents that are inserted before that position.
//   - A pager refuses a cursor that has another number of values than its order has fields
//     (ErrCursor). It cannot tell cursors of other sort fields from its own if the number is the
//     same. Cursors are neither secret nor signed: a client can read the values in a cursor, and
//     can make other cursors. A cursor only selects a position among the documents that Equal and
//     Filter select.
//
// # Crashes
//
// The package writes nothing, so that a crash leaves nothing to repair. A cursor stays valid when
// the process or the server restarts.
//
// # Scaling
//
// One shard serves a page if Equal contains the shard key. Pages may be read from secondaries: then
// a walk sees the state of the secondaries.
//
// # Source
//
// The pattern is in "50 Tips and Tricks for MongoDB Developers", tip 3 (the photo thread, S42; a
// page of a blog, S41). The book pages by the date alone, and so loses documents of the same date
// at the end of a page. Here, _id decides between these documents.
package paging
