// Package relation helps with documents that belong to each other: whether to embed them, how to
// keep references in both directions alike, and how to load referenced documents without a query
// for each.
//
//	r, err := relation.New(db, relation.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := r.Link(ctx, "ada", "notes"); err != nil {
//		log.Fatal(err)
//	}
//	var books []struct{ Title string }
//	if err := r.Rights(ctx, "ada", &books); err != nil {
//		log.Fatal(err)
//	}
//
// # The problem
//
// A server of documents joins little and enforces no references. What is read together should be
// one document; what is shared, large or growing should not. Between the two are references, in one
// direction or in both; then two documents must say the same, and a process that dies between its
// two writes leaves an author who lists a book that does not list the author. And a page that shows
// fifty books with their authors must not ask fifty times.
//
// Advise says which of the designs fits; it is the rules of the books as a function:
//
//	Embed      the parent has it: one to one, one to few, and what must stay as it was (the price in an order)
//	Buckets    a document per 50 children: one to many that grow, read by pages
//	Link       the child refers to its parent: one to many that are asked for on their own
//	OneWay     the side that has few refers to the other: books to categories
//	TwoWay     both refer to each other: authors and books
//	Pairs      a document per pair: many on both sides
//
// Embedding needs no package: write the document. In one to one by a link, give the linked document
// its owner's _id: then there is not more than one, by the index that exists anyway. OneToOne has
// the index for a field of another name, and finds owners without a partner. When not to use
// two-way references: where one side can have many. An index on the references of one side answers
// the other direction with one query; two-way references save that index, and cost a second write.
//
// # The documents
//
//	authors: {_id: 1, name: "Peter Standford", books: [1, 2]}
//	books:   {_id: 1, title: "A tale of two people", authors: [1]}
//	buckets: {_id: {owner: 7, page: 2}, owner: 7, page: 2, count: 1, items: [{…}]}
//
//	users:     {_id: 1, name: "Peter Wilkinson", age: 27}
//	addresses: {_id: 1, street: "100 some road", city: "Nevermore"}
//
// Indexes: authors {books: 1}, books {authors: 1}, buckets {owner: 1, page: -1}. A list has at most
// Config.Max references, a bucket BucketConfig.Size items.
//
// # Operations
//
//	Link, Unlink    2 updates, 1 find
//	Rights, Lefts   2 finds
//	RemoveLeft, RemoveRight   1 delete, 1 update of many
//	Buckets.Add     1 find, 1 update; 2 updates for the first of a bucket
//	Buckets.Page    1 find; Count 1 find
//	Load, Children  1 find for 1,000 ids
//	OneToOne.Check  2 aggregates
//
// Of the two references of a pair the right one (of the book) decides. Link writes it first, then
// the left one (of the author), and then looks at the right one again: if somebody has changed it
// meanwhile, the left one is written again. So whoever writes last has seen what is true, and Link
// and Unlink of the same pair, at once, leave both sides the same. Rights, which goes from left to
// right, takes only those that refer back.
//
// # Guarantees
//
//   - When nobody is at work, a refers to b exactly if b refers to a.
//   - Rights and Lefts never return a pair whose right side does not say so. While a Link is at
//     work Rights may not have it yet.
//   - A bucket's count is that of its items, and at most its size; pages follow each other from 1,
//     and all but the last are full.
//   - Lists are bounded: ErrFull.
//   - One to one: nobody has two partners. Who has none, because a process died between two
//     inserts, OneToOne.Check lists.
//
// # Crashes
//
//	Link, Unlink   after the first write: the right side says what is true, the left one is mended by Repair
//	RemoveLeft     after the delete: references to nobody, which Lefts leaves out, until Repair
//	RemoveRight    the same
//	Buckets.Add    one write: it has happened or not
//
// Repair reads all references. It is needed after crashes only; run it once a day.
//
// # Scaling
//
// Shard both sides by {_id: "hashed"}, buckets by {owner: 1, page: 1}: all pages of an owner are
// near each other. Load asks the shards that have the ids; Children asks all of them, unless the
// children are sharded by their parent.
//
// # Source
//
// "The Little MongoDB Schema Design Book", schema basics (S01-S04), "MongoDB Applied Design
// Patterns", chapter 1 (S05), "50 Tips and Tricks for MongoDB Developers", tips 2, 4 and 5 (S43).
// The books leave the two directions to the application; the first one's own sample has an author
// with a book that does not have the author (Check finds it), and its query for the books of a
// category takes category.id, which does not exist. Its buckets say nothing about who makes the
// next page: the update that finds the last one full.
package relation
