// Package cms keeps the content of a web site: pages, posts and photos that several people edit,
// with files of any size, tags and feeds.
//
//	c, err := cms.New(db, cms.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := c.EnsureIndexes(ctx); err != nil {
//		log.Fatal(err)
//	}
//	page, err := c.Create(ctx, cms.Metadata{
//		Kind: cms.Page, Title: "About us", Detail: cms.Detail{Text: "We are two."},
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//
// # The problem
//
// Alice and Bob open the same page. Alice saves; Bob saves, and hers is gone without anyone's
// knowing. A photo is replaced by one of twenty megabytes: for as long as that takes, readers must
// see the old one, and if the program dies meanwhile they must go on to; what it has written must
// disappear some day, but never while somebody is still writing it.
//
// When not to use it: where several people write one text at the same moment, which needs a merge
// of their keystrokes and not the refusal of the later one. Files of a few kilobytes belong into a
// document of their own: GridFS is two reads and two collections.
//
// # The documents
//
//	nodes: {_id: ObjectId("…01"), nonce: ObjectId("…9f"), revision: NumberLong(4), created: ISODate("…"), edited: ISODate("…"),
//	        metadata: {nodetype: "photo", section: "travel", slug: "kyoto", title: "Kyoto", author: "alice", tags: ["japan", "temple"],
//	                   detail: {text: "In autumn", publish_on: ISODate("2026-05-01T12:00:00Z")}},
//	        file: ObjectId("…07"),
//	        versions: [{file: ObjectId("…07"), name: "kyoto.jpg", type: "image/jpeg", length: NumberLong(80000), sha256: "…", at: ISODate("…")}],
//	        uploads: [{file: ObjectId("…08"), until: ISODate("…")}]}
//	assets.files, assets.chunks: a GridFS bucket, whose files have metadata {node: ObjectId("…01"), type: "image/jpeg"}
//	locks: see package lock
//
// Indexes: nodes {section: 1, slug: 1} (unique), {section: 1, nodetype: 1, publish_on: -1, _id:
// -1}, {tags: 1, publish_on: -1, _id: -1}, with the paths above, {"uploads.file": 1} and
// {"versions.file": 1} (sparse); those of GridFS. A node is bounded by MaxText, MaxTags, MaxName,
// MaxUploads and Config.Versions: less than 6 MB, and a few kilobytes as people write.
//
// # Operations
//
//	Create         1 insert; one more for each number that a slug made of the title needs
//	Get, BySlug    1 find
//	Edit, Revert   1 findAndModify on {_id, nonce}; after a conflict 1 find of the other version
//	Upload         1 update, which registers it; 1 find (the driver's) and 1 insert for every 16 MiB; 1 insert of the file's document;
//	               1 findAndModify, which makes it the node's and ends the registration. 1 update each third of the lease.
//	Open           1 find, and 1 find of the chunks
//	Delete         1 findAndModify, 2 deletes for each version
//	List, Feed     1 find of an index range
//	Tags           1 aggregate over the index of tags
//	Checkout       1 findAndModify of a lock
//	Sweep          1 update; 3 finds for each 500 files; 1 aggregate over the index of chunks; 2 deletes for each file that goes
//
// # Guarantees
//
//   - No lost update: every save is of the state that the editor read. Another one is a
//     *ConflictError with both versions, for the editor to merge: copy what is wanted into Theirs,
//     and save that. Whoever saves gives the node a new nonce in the same write.
//   - A reader sees the old file of a node or the new one, whole. The node is what tells which it
//     is, not the newest uploadDate.
//   - Nobody deletes chunks of an upload in progress. One by this package is registered in its node
//     before its first chunk. A sweep first takes the registration of one that has paused for
//     Config.Lease away; from then on it cannot become the node's (ErrUploadLost), and only then
//     are its chunks orphans. An upload by another program is known by its chunks alone: it is safe
//     if it never pauses for Config.Grace. Chunks whose _id does not tell their age are reported,
//     and stay.
//   - Checkout is a courtesy between people, with a lease; it is not what keeps saves apart.
//   - A version that is more than Config.Versions saves old goes with the next sweep after
//     Config.Grace; who still reads it then gets an error.
//   - Where writes are acknowledged by less than a majority, a fail-over can take a registration
//     back. The default is a majority.
//
// # After a crash
//
//	Create, Edit, Revert   one write: it was done or not. A process that did not hear the answer reads the node again
//	Upload                 before the last write the node is as before. A registration, chunks and perhaps a file without an owner stay;
//	                       sweeps remove them when Config.Lease and then Config.Grace have passed
//	Delete                 behind its first write the node is gone, and its files are without an owner until a sweep
//	Checkout               the lease ends by itself
//	Sweep                  can be repeated
//
// # Scaling
//
// Sites are read: from secondaries, where a save may be seen a moment later; what an editor is to
// edit must come from the primary, or the save will conflict. Nodes are sharded by
// {"metadata.section": 1, "metadata.slug": 1}, by which pages are read, and which keeps slugs
// unique; saves carry both. Chunks by {files_id: 1, n: 1}. The documents of files are small and
// few: they stay on one shard.
//
// # Source
//
// "MongoDB Applied Design Patterns", chapter 6: nonces, photos in GridFS, tags and feeds. It
// replaces a photo by storing another file of the same name, of which readers take the newest: two
// people who do so at once lose one of them, so here the node refers to its file, guarded by its
// nonce. It has no drafts, no conflict to show, no death in the middle. "50 Tips and Tricks for
// MongoDB Developers", tip 39: orphan chunks, to be removed after a look at db.currentOp() and the
// newest uploadDate. An upload is many operations with pauses between, so that neither of them
// tells that none is in progress: hence the registration.
package cms
