// Package relation helps with documents that belong to each other. It advises whether to embed
// them, keeps references in both directions consistent, and loads referenced documents without a
// query for each.
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
// A document database joins little and does not enforce references. Data that is read together
// should be one document. Data that is shared, large or growing should not. Otherwise documents
// refer to each other, in one direction or in both. With both directions, two documents must agree.
// If a process dies between the two writes, an author may list a book that does not list the
// author. And a page that shows fifty books with their authors must not send fifty queries.
//
// Advise selects a design. It is a function with the rules of the books:
//
//	Embed      the parent contains the child: one to one, one to few, and data that must not change later
//	           (the price in an order)
//	Buckets    one document for 50 children: one to many that grows, read by pages
//	Link       the child refers to its parent: one to many whose children are queried alone
//	OneWay     the side with few refers to the other: books to categories
//	TwoWay     both sides refer to each other: authors and books
//	Pairs      one document for each pair: many on both sides
//
// Embedding needs no package: write the document. For one to one with a link, give the linked
// document the _id of its owner. Then the index on _id, which always exists, prevents a second
// linked document. OneToOne creates a unique index if the field has another name, and finds owners
// without a partner. When not to use two-way references: if one side can have many. An index on the
// references of one side answers the other direction with one query; two-way references save this
// index but cost a second write.
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
// Config.Max references, and a bucket has at most BucketConfig.Size items.
//
// # Operations
//
//	Link, Unlink    2 updates, 1 find
//	Rights, Lefts   2 finds
//	RemoveLeft, RemoveRight   1 delete, 1 update of many documents
//	Bucketed.Add    1 find, 1 update; 2 updates for the first item of a bucket
//	Bucketed.Page   1 find; Count 1 find
//	Load, Children  1 find for 1,000 ids
//	OneToOne.Check  2 aggregates
//
// A pair has two references, and the right one (in the book) decides. Link first writes the right
// reference and then the left one (in the author). Then it reads the right reference again. If
// another process has changed it meanwhile, Link writes the left reference again. So the process
// that writes last has read the current right reference. If Link and Unlink of the same pair run at
// once, both sides agree afterwards. Rights, which goes from left to right, returns only documents
// that refer back.
//
// # Guarantees
//
//   - When no operation is under way, a refers to b exactly if b refers to a.
//   - Rights and Lefts never return a pair whose right side does not have the reference. During a
//     Link, Rights may not return the new pair yet.
//   - The count of a bucket is the number of its items, and at most its size. Pages are numbered
//     from 1 without gaps, and all but the last are full.
//   - Lists have a limited length (ErrFull).
//   - One to one: no owner has two partners. OneToOne.Check lists owners without a partner, which
//     result if a process dies between two inserts.
//
// # Crashes
//
//	Link, Unlink   after the first write: the right side is correct, and Repair corrects the left side
//	RemoveLeft     after the delete: references to the deleted document are left; Lefts ignores them, and
//	               Repair removes them
//	RemoveRight    the same
//	Bucketed.Add   one write: it has happened or not
//
// Repair reads all references. It is needed only after crashes; run it once a day.
//
// # Scaling
//
// Shard both sides by {_id: "hashed"}, and buckets by {owner: 1, page: 1}, which keeps the pages of
// an owner together. Load queries the shards that have the ids. Children queries all shards, unless
// the children are sharded by their parent.
//
// # Source
//
// The pattern is in "The Little MongoDB Schema Design Book", schema basics (S01-S04), in "MongoDB
// Applied Design Patterns", chapter 1 (S05), and in "50 Tips and Tricks for MongoDB Developers",
// tips 2, 4 and 5 (S43). The books leave references in both directions to the application. In the
// Little book's own sample, an author has a book that does not have the author; Check finds this.
// Its query for the books of a category uses category.id, which does not exist. Its buckets do not
// say which update creates the next page; here it is the update that finds the last page full.
package relation
