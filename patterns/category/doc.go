// Package category keeps trees of categories, as shops have them. One or two queries read the bread
// crumbs, a menu, or the products of a whole branch.
//
//	tree, err := category.New(db, category.Config{Design: category.Paths})
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := tree.EnsureIndexes(ctx); err != nil {
//		log.Fatal(err)
//	}
//	add := func(parent bson.ObjectID, slug, name string) bson.ObjectID {
//		c, err := tree.Add(ctx, parent, slug, name)
//		if err != nil {
//			log.Fatal(err)
//		}
//		return c.ID
//	}
//	electronics := add(category.Top, "electronics", "Electronics")
//
// # The problem
//
// A category knows its parent. From that alone a bread crumb costs a query for every level, and the
// products of "Electronics and all below" one for every category. So documents keep copies of what
// is above them. Copies must follow when a category is moved or renamed, with everything below it,
// while others read and change the same tree, and also when the process that does it dies in the
// middle.
//
// When not to use it: for trees of millions of nodes that change all the time; a move writes
// everything below. Where a branch is asked for seldom, $graphLookup over the parents needs no
// copies.
//
// # The documents
//
// Both designs have the same operations; Config.Design chooses. The parent is the truth, the rest
// follows from it.
//
//	Ancestors
//	categories: {_id: ObjectId("…02"), slug: "modal-jazz", name: "Modal Jazz", parent: ObjectId("…01"), rank: 0, change: 7,
//	             ancestors: [{_id: ObjectId("…01"), slug: "bop", name: "Bop"}, {_id: ObjectId("…00"), slug: "ragtime", name: "Ragtime"}]}
//	products:   {_id: 17, …, categories: [ObjectId("…02")]}
//
//	Paths
//	categories: {_id: ObjectId("…02"), slug: "modal-jazz", name: "Modal Jazz", parent: ObjectId("…01"), rank: 0, change: 7,
//	             path: "/ragtime/bop/modal-jazz/"}
//	products:   {_id: 17, …, categories: [{_id: ObjectId("…02"), path: "/ragtime/bop/modal-jazz/"}]}
//
//	both
//	categories.state: {_id: "tree", seq: 7, change: null, until: ISODate("…")}
//
// Indexes: categories {slug: 1} (unique), {parent: 1, rank: 1, slug: 1, name: 1, _id: 1}; with
// Ancestors {"ancestors._id": 1} and products {categories: 1}; with Paths {path: 1} and products
// {"categories._id": 1}, {"categories.path": 1}. A document grows with the depth of the tree
// (Config.MaxDepth), not with its width.
//
// # Operations
//
//	                     Ancestors                              Paths
//	Find, with crumbs    1 find                                 2 finds
//	Children             1 find, of an index alone              the same
//	Subtree              2 finds                                2 finds, the second one of a range of paths
//	Products, Here       2 finds                                2 finds
//	Products, AndBelow   1 find, 1 distinct, 1 find of a list   2 finds, the second one of a range of paths
//	Assign               1 update between 2 finds               the same
//	Add                  1 insert, with 2 writes of the state   the same
//	Move, Rename         a find for each level below, 2 writes  the same, and 1 bulkWrite of products
//	                     and 2 of the state
//	Remove               1 find, 1 update of products, 1 delete, with 2 writes of the state
//	Reorder              1 bulkWrite
//
// Which one? Ancestors reads a category with its crumbs in one round trip and leaves products alone
// when categories move. Paths finds the products of a large branch by one range of an index, where
// Ancestors sends a list of all its categories.
//
// # Guarantees
//
//   - Changes of a tree are done one after another. Each is written down in the state before it
//     begins, so no two moves make a circle, and a category is not removed while one is added below
//     it.
//   - A change that was begun is done, if not by its author then by the next change, or by Repair,
//     once Config.Lease has passed. Until then readers may see a part of it: some crumbs new, some
//     old. A reader never sees a category twice or not at all by its _id.
//   - A process that sleeps in the middle of its change for longer than the lease, and wakes up,
//     changes nothing that a later one wrote: writes carry the number of their change. The
//     exception is a category that it adds while it was removed by a later change in that time; the
//     driver's own deadline, which is the lease, makes that need a pause inside of the sending of
//     one message.
//   - What an error means: one of this package's errors says that nothing was changed. Another one,
//     such as a broken connection, says that the change may have been begun; then it will be done.
//   - Reorder is a change of its own for each child.
//
// # After a crash
//
//	before the state is written        nothing has happened
//	Add, Move, Rename, Remove behind   the change is done by the next one, or by Repair, once Config.Lease has passed; until then some crumbs
//	                                   are new and some old
//	Assign, between its steps          the product may hold the path that a category had a moment ago, if that very category was moved at
//	                                   the same time; Check tells and Repair mends it
//	Reorder                            some children have their new rank; repeat it
//
// # Scaling
//
// Trees are small and read often: read them from secondaries, and do not shard them. If they must
// be, _id is the key; the unique index of slugs is then not possible, and slugs are only as unique
// as the sequence of changes makes them. Products are the application's to shard.
//
// # Source
//
// "MongoDB Applied Design Patterns", chapter 5: the array of ancestors (S16). There the rebuilding
// of a moved branch leaves out the moved category itself, stores arrays in arrays, and fails for a
// category without a parent; circles are not refused. "The Little MongoDB Schema Design Book",
// category hierarchy: materialised paths. Its expression for a branch also finds siblings whose
// names begin alike, which the slash at the end of paths prevents here; it has no renaming. Both
// are silent about crashes and about two changes at once.
package category
