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
// find().sort().skip(20 * page).limit(20) reads and throws away all that stands before the page,
// and shows a document twice, or never, when others are inserted or removed meanwhile. A page that
// instead begins behind the last document seen costs the same wherever it is, and nothing moves it.
//
// When not to use it: for "page 17 of 230" links. A position that can be jumped to needs a count of
// what stands before it.
//
// # The documents
//
// Any collection. Documents are ordered by the fields of Sort, and by _id behind them, so that no
// two are equal:
//
//	posts: {_id: ObjectId("…"), thread: 7, date: ISODate("…"), text: "…"}
//	index: {thread: 1, date: 1, _id: 1}   // the fields of Equal, those of Sort, _id
//
// The fields of Sort may be missing, null, and of different types; arrays, of which MongoDB sorts
// by one element, and regular expressions and code, which it does not compare, are refused
// (ErrType).
//
// # Operations
//
//	First, Last, After, Before   1 find, of one document more than the page has
//
// A Cursor is text that a program may give to its clients and take back: it holds the values of the
// sort fields of a document, not its position. The document itself may be gone when the cursor is
// used.
//
// # Guarantees
//
//   - Walking in one direction shows every document that is there all the time, and whose sort
//     fields do not change, exactly once.
//   - What is inserted behind the place that a walk has come to is shown; what is inserted before
//     it is not.
//   - A cursor of other sort fields is refused (ErrCursor). Cursors are not secret and not signed:
//     whoever has one can read the values in it, and make others. They select a place in what Equal
//     and Filter allow, no more.
//
// # Crashes
//
// Nothing is written: there is nothing that a crash can leave. A cursor outlives its process, and
// its server.
//
// # Scaling
//
// A page is served by one shard where Equal holds the shard key. Pages may be read from
// secondaries: a walk then sees their state.
//
// # Source
//
// "50 Tips and Tricks for MongoDB Developers", tip 3 (the photo thread, S42; a page of a blog,
// S41). The source pages by the date alone and so loses documents of the same date at the border of
// a page; here _id decides between them.
package paging
