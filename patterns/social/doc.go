// Package social has the parts of a social network: profiles, followers in circles, posts on walls
// and in news feeds, messages in inboxes, unread counts, and blocked users.
//
//	n, err := social.New(db, social.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := n.EnsureIndexes(ctx); err != nil {
//		log.Fatal(err)
//	}
//	for _, follower := range []string{"joe", "sam"} {
//		if err := n.Follow(ctx, follower, "ann"); err != nil {
//			log.Fatal(err)
//		}
//	}
//	if err := n.SetCircles(ctx, "ann", "joe", "family"); err != nil {
//		log.Fatal(err)
//	}
//
// # The problem
//
// A user opens the page and wants the latest posts of five hundred others, at once. Asking for all
// their posts, on all shards, each time is too slow; so a post is copied, when it is written, to
// everyone who will read it. The copies must be there once, also when the process that makes them
// dies and another one goes on; they must go when the post is deleted; and an author with a million
// followers must not make a million copies.
//
// When not to use it: for groups of a few dozen people, whose posts one query with an index finds;
// for chats that show each letter at once (package topic).
//
// # The documents
//
//	users:    {_id: "ann", name: "Ann Lee", about: "…"}
//	follows:  {from: "joe", to: "ann", circles: ["family"]}
//	blocks:   {from: "ann", to: "sam", at: ISODate("…")}
//	posts:    {_id: ObjectId("…"), author: "ann", at: ISODate("…"), text: "hello", circles: ["family"], pull: false, state: "sent"}
//	messages: {_id: ObjectId("…"), author: "ann", at: ISODate("…"), text: "hello", to: ["joe"], pull: false, state: "sending",
//	           until: ISODate("…")}
//	feeds, inbox: {_id: ObjectId("…"), owner: "joe", open: true, n: 2, unread: 1,
//	           items: [{_id: ObjectId("…"), author: "ann", at: ISODate("…"), text: "hello"}, {…}]}
//	indexes:  follows, blocks {from: 1, to: 1} (unique), {to: 1, from: 1}; posts {author: 1, _id: -1}, {author: 1, pull: 1, _id: -1};
//	          posts, messages {until: 1} (partial); feeds, inbox {owner: 1} (unique, partial: open), {owner: 1, "items._id": 1} (unique),
//	          {owner: 1, _id: -1}, {"items._id": 1}
//
// A bucket has 50 items of at most 10,000 bytes each, and is then closed. Posts and messages are
// written once, and are the truth; feeds and inboxes are copies.
//
// # Operations
//
//	Follow         2 finds and 1 update;  Unfollow 1 delete;  SetCircles 1 update;  Block 1 update and 1 delete
//	Post           1 count, 1 insert; for each 500 followers a part of 1 find, 1 update, 1 bulkWrite; 1 update
//	               with more followers than Config.PushLimit: 1 count, 1 insert
//	Send           1 distinct, 1 insert; for each 500 recipients 1 update, 1 bulkWrite; 1 update
//	Feed           3 finds: whom one follows, two buckets, the posts that were not copied
//	Inbox          1 find, of two buckets
//	Wall           3 finds; 1 for the author
//	Unread         2 aggregates;  MarkRead 2 updates
//	DeletePost     2 updates, one of all copies
//	Finish         2 aggregates, and what is left to do
//	Repair         the same, and reads all copies and all blocks
//
// # Guarantees
//
//   - A post is in the feed of everyone who followed when it was sent, and a message in each inbox,
//     once: unique indexes refuse a second copy, from whichever process. A post that is sent again
//     with the same ID is not sent twice.
//   - A feed shows only those whom one follows now: unfollowing and blocking have effect at once.
//     Who was in a circle when a post was copied keeps the copy.
//   - A post that was deleted is not in any feed when DeletePost returns, unless a process was
//     copying it just then; that copy goes with Finish, or if it took longer than Config.Lease,
//     with Repair.
//   - Items of a bucket are in the order in which they were delivered.
//
// Feed and Inbox show the latest 50 to 100 items, Feed up to 100 more that were not copied; older
// ones are on the walls.
//
// # What a crash leaves
//
//	in Post, Send      after the insert: some copies; Finish makes the others, when Config.Lease is over
//	in DeletePost      after the mark: some copies with their text; Finish empties them
//	in Block           after the update: a follower, who sees nothing new, as walls look at blocks; Repair removes it
//	in Follow          a follower who was blocked at the same moment; Repair removes it
//
// # Metrics
//
// social.copies counts the items that were put into buckets.
//
// # Scaling
//
// Feeds and inboxes are sharded by {owner: 1}, so that one user's are read from one shard; posts by
// {author: 1}. Unique indexes need that key in front, as they have it. Hot authors are those that
// Config.PushLimit is for. Feeds may be read from secondaries.
//
// # Source
//
// "The Little MongoDB Schema Design Book", social inbox (S31); "50 Tips and Tricks", tip 6 (arrays
// that grow go into documents of their own, S44); "MongoDB Applied Design Patterns" has a chapter
// of which only the heading is known (S29). The book counts a user's messages in the user, and
// derives the bucket's number from the count: a crash between the two writes leaves a gap, a
// repetition sends twice, and the first bucket has 49. Here the open bucket takes the item, its own
// count closes it, and a unique index knows what was delivered.
package social
