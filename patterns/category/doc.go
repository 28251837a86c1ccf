// Package category keeps trees of categories, as in a shop. One or two queries read the bread
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
// A category stores its parent. With the parents alone, bread crumbs cost one query for every
// level, and the products of "Electronics and everything below" cost one query for every category.
// So documents store copies of their ancestors. When a category is moved or renamed, the copies in
// everything below it must follow. This must work while other processes read and change the same
// tree, and if the process dies in the middle of the change.
//
// When not to use it: for trees of millions of nodes that change all the time, because a move
// writes everything below the moved node. If programs seldom query a branch, use $graphLookup over
// the parents, which needs no copies.
//
// # The documents
//
// Both designs have the same operations; Config.Design selects one. The parent is the original
// data, and all other fields are derived from it.
//
//	Ancestors
//	categories: {_id: ObjectId("…02"), slug: "modal-jazz", name: "Modal Jazz", parent: ObjectId("…01"),
//	             rank: 0, change: 7,
//	             ancestors: [{_id: ObjectId("…01"), slug: "bop", name: "Bop"},
//	                         {_id: ObjectId("…00"), slug: "ragtime", name: "Ragtime"}]}
//	products:   {_id: 17, …, categories: [ObjectId("…02")]}
//
//	Paths
//	categories: {_id: ObjectId("…02"), slug: "modal-jazz", name: "Modal Jazz", parent: ObjectId("…01"),
//	             rank: 0, change: 7, path: "/ragtime/bop/modal-jazz/"}
//	products:   {_id: 17, …, categories: [{_id: ObjectId("…02"), path: "/ragtime/bop/modal-jazz/"}]}
//
//	both
//	categories.state: {_id: "tree", seq: 7, change: null, until: ISODate("…")}
//
// Both designs have the indexes {slug: 1} (unique) and {parent: 1, rank: 1, slug: 1, name: 1, _id:
// 1} on the categories. Ancestors also has {"ancestors._id": 1}, and {categories: 1} on the
// products. Paths also has {path: 1}, and {"categories._id": 1} and {"categories.path": 1} on the
// products. A document grows with the depth of the tree (Config.MaxDepth), not with its width.
//
// # Operations
//
//	                     Ancestors                              Paths
//	Find, with crumbs    1 find                                 2 finds
//	Children             1 find, covered by an index            the same
//	Subtree              2 finds                                2 finds, the second over a range of paths
//	Products, Here       2 finds                                2 finds
//	Products, AndBelow   1 find, 1 distinct, 1 find by a list   2 finds, the second over a range of paths
//	Assign               1 update between 2 finds               the same
//	Add                  1 insert, and 2 writes of the state    the same
//	Move, Rename         a find for each level below, 2 writes  the same, and 1 bulkWrite of products
//	                     and 2 writes of the state
//	Remove               1 find, 1 update of products, 1 delete and 2 writes of the state
//	Reorder              1 bulkWrite
//
// Which design to choose? Ancestors reads a category with its crumbs in one round trip, and need
// not update products when categories move. Paths finds the products of a large branch with one
// range of an index; Ancestors sends a list of all categories of the branch.
//
// # Guarantees
//
//   - Changes of a tree happen one after another. Each change is stored in the state before it
//     begins. So two moves cannot create a cycle, and a category cannot be removed while another
//     process adds a child to it.
//   - A change that was begun will be finished. If its author dies, the next change or Repair
//     finishes it after Config.Lease. Until then readers may see part of the change: some crumbs
//     are new, some old. A reader that selects a category by its _id always finds it exactly once.
//   - If a process sleeps during its change for longer than the lease, it cannot overwrite later
//     changes afterwards: each write carries the number of its change. There is one exception: the
//     process may add a category that a later change has removed meanwhile. The driver's deadline
//     is the lease, so this can happen only if the process pauses while it sends that one command.
//   - An error of this package means that nothing was changed. After any other error, such as a
//     broken connection, the change may have begun, and then it will be finished.
//   - Reorder changes each child separately.
//
// # After a crash
//
//	before the state is written      nothing has changed
//	Add, Move, Rename, Remove after  the next change or Repair finishes the change after Config.Lease;
//	                                 until then some crumbs are new and some are old
//	Assign, between its steps        the product may have an old path of a category that was moved at the
//	                                 same time; Check reports it and Repair corrects it
//	Reorder                          some children have their new rank; call it again
//
// # Scaling
//
// Trees are small and are read often: read them from secondaries, and do not shard them. If a tree
// must be sharded, use _id as the shard key. The unique index of slugs is then not possible, and
// only the order of changes keeps slugs unique. The application decides how to shard its products.
//
// # Source
//
// The array of ancestors is in "MongoDB Applied Design Patterns", chapter 5 (S16). When it rebuilds
// a moved branch, it leaves out the moved category itself, stores arrays in arrays, and fails for a
// category without a parent. It does not prevent cycles. Materialised paths are in "The Little
// MongoDB Schema Design Book", category hierarchy. Its expression for a branch also matches
// siblings whose names begin alike; here the slash at the end of a path prevents this. The book has
// no renaming. Neither book treats crashes or concurrent changes.
package category
