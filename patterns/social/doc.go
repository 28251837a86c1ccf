// Package social provides the parts of a social network: profiles, followers in circles, posts on
// walls and in news feeds, messages in inboxes, unread counts, and blocked users.
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
// A user opens the page and wants the latest posts of five hundred other users at once. Querying
// all their posts on all shards each time is too slow. Therefore a post is copied to every reader
// when it is written. Each reader must get exactly one copy, even if the process that makes the
// copies dies and another one continues. The copies must disappear when the post is deleted. And an
// author with a million followers must not cause a million copies.
//
// When not to use it: for groups of a few dozen people, because one query with an index finds their
// posts; for chats that show each letter as it is typed (use package topic).
//
// # The documents
//
//	users:    {_id: "ann", name: "Ann Lee", about: "…"}
//	follows:  {from: "joe", to: "ann", circles: ["family"]}
//	blocks:   {from: "ann", to: "sam", at: ISODate("…")}
//	posts:    {_id: ObjectId("…"), author: "ann", at: ISODate("…"), text: "hello", circles: ["family"],
//	           pull: false, state: "sent"}
//	messages: {_id: ObjectId("…"), author: "ann", at: ISODate("…"), text: "hello", to: ["joe"],
//	           pull: false, state: "sending", until: ISODate("…")}
//	feeds, inbox: {_id: ObjectId("…"), owner: "joe", open: true, n: 2, unread: 1,
//	           items: [{_id: ObjectId("…"), author: "ann", at: ISODate("…"), text: "hello"}, {…}]}
//	indexes:  follows, blocks {from: 1, to: 1} (unique), {to: 1, from: 1};
//	          posts {author: 1, _id: -1}, {author: 1, pull: 1, _id: -1};
//	          posts, messages {until: 1} (partial);
//	          feeds, inbox {owner: 1} (unique, partial: open), {owner: 1, "items._id": 1} (unique),
//	          {owner: 1, _id: -1}, {"items._id": 1}
//
// A bucket is closed when it has 50 items. A text has at most 10,000 bytes. Posts and messages are
// written once and are the original data; feeds and inboxes hold copies.
//
// # Operations
//
//	Follow         2 finds and 1 update;  Unfollow 1 delete;  SetCircles 1 update
//	Block          1 update and 1 delete
//	Post           1 count, 1 insert; for each 500 followers part of 1 find, 1 update, 1 bulkWrite; 1 update
//	               with more followers than Config.PushLimit: 1 count, 1 insert
//	Send           1 distinct, 1 insert; for each 500 recipients 1 update, 1 bulkWrite; 1 update
//	Feed           3 finds: the followed users, two buckets, the posts without copies
//	Inbox          1 find of two buckets
//	Wall           3 finds; 1 for the author
//	Unread         2 aggregates;  MarkRead 2 updates
//	DeletePost     2 updates, one of all copies
//	Finish         2 aggregates, and the commands that complete the letters found
//	Repair         the commands of Finish; it also reads all copies and all blocks
//
// # Guarantees
//
//   - A post is in the feed of every user who followed the author when it was sent, and a message
//     is in the inbox of each recipient, exactly once. Unique indexes refuse a second copy,
//     whichever process makes it. A post that is sent again with the same ID is not delivered
//     twice.
//   - A feed shows only posts of authors whom the user follows now: Unfollow and Block take effect
//     at once. A user who was in a circle when a post was copied keeps the copy.
//   - When DeletePost returns, the post is in no feed, unless another process was copying it at
//     that moment. Finish removes such a copy, or Repair if copying took longer than Config.Lease.
//   - The items of a bucket are in the order of their delivery.
//
// Feed and Inbox return the latest 50 to 100 items. Feed adds up to 100 posts that were not copied.
// Walls have the older posts.
//
// # After a crash
//
//	in Post, Send      after the insert: some copies; Finish makes the others after Config.Lease
//	in DeletePost      after the mark: some copies with their text; Finish empties them
//	in Block           after the update: a blocked follower who sees nothing new, because walls check
//	                   the blocks; Repair removes the follower
//	in Follow          a follower that was blocked at the same moment; Repair removes it
//
// # Metrics
//
// social.copies counts the items added to buckets.
//
// # Scaling
//
// Feeds and inboxes are sharded by {owner: 1}, so that one shard has all buckets of a user. Posts
// are sharded by {author: 1}. A unique index must begin with the shard key; the indexes above do.
// For authors with very many followers, Config.PushLimit avoids the copies. Feeds may be read from
// secondaries.
//
// # Source
//
// The pattern is in "The Little MongoDB Schema Design Book", social inbox (S31), and in "50 Tips
// and Tricks", tip 6 (growing arrays belong in their own documents, S44). Of a chapter in "MongoDB
// Applied Design Patterns" only the heading was available (S29). The Little book counts a user's
// messages in the user's document, and derives the number of the bucket from this count. There, a
// crash between the two writes leaves a gap, a repeated call sends the message twice, and the first
// bucket has 49 items. Here the open bucket takes the item, its own count closes it, and a unique
// index knows which items were delivered.
package social
