// Package cms stores the content of a web site that several people edit: pages, posts and photos,
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
// Alice and Bob open the same page. Alice saves; then Bob saves, and Alice's changes are lost
// without anyone noticing. A photo is replaced by another one of twenty megabytes. During the
// upload readers must see the old photo, and also if the program dies. The chunks that it has
// written must be deleted some day, but never while somebody is still uploading.
//
// When not to use it: if several people edit the same text at the same moment, because this needs a
// merge of their keystrokes. Files of a few kilobytes belong in documents of their own: GridFS
// needs two reads and two collections.
//
// # The documents
//
//	nodes: {_id: ObjectId("…01"), nonce: ObjectId("…9f"), revision: NumberLong(4),
//	        created: ISODate("…"), edited: ISODate("…"),
//	        metadata: {nodetype: "photo", section: "travel", slug: "kyoto", title: "Kyoto", author: "alice",
//	                   tags: ["japan", "temple"],
//	                   detail: {text: "In autumn", publish_on: ISODate("2026-05-01T12:00:00Z")}},
//	        file: ObjectId("…07"),
//	        versions: [{file: ObjectId("…07"), name: "kyoto.jpg", type: "image/jpeg",
//	                    length: NumberLong(80000), sha256: "…", at: ISODate("…")}],
//	        uploads: [{file: ObjectId("…08"), until: ISODate("…")}]}
//	assets.files, assets.chunks: a GridFS bucket; its files have the metadata
//	                             {node: ObjectId("…01"), type: "image/jpeg"}
//	locks: see package lock
//
// The indexes of nodes, with the paths above, are {section: 1, slug: 1} (unique), {section: 1,
// nodetype: 1, publish_on: -1, _id: -1}, {tags: 1, publish_on: -1, _id: -1}, and the sparse indexes
// {"uploads.file": 1} and {"versions.file": 1}. GridFS has its usual indexes. MaxText, MaxTags,
// MaxName, MaxUploads and Config.Versions limit a node to less than 6 MB; most nodes have a few
// kilobytes.
//
// # Operations
//
//	Create         1 insert; 1 more for each number tried for a slug derived from the title
//	Get, BySlug    1 find
//	Edit, Revert   1 findAndModify on {_id, nonce}; after a conflict 1 find of the other version
//	Upload         1 update, which registers the upload; 1 find by the driver; 1 insert for every 16 MiB;
//	               1 insert of the file's document; 1 findAndModify, which attaches the file to the node
//	               and ends the registration; 1 update for each third of the lease
//	Open           1 find, and 1 find of the chunks
//	Delete         1 findAndModify, 2 deletes for each version
//	List, Feed     1 find of an index range
//	Tags           1 aggregate over the index of tags
//	Checkout       1 findAndModify of a lock
//	Sweep          1 update; 3 finds for each 500 files; 1 aggregate over the index of chunks;
//	               2 deletes for each deleted file
//
// # Guarantees
//
//   - No update is lost: a save succeeds only if the node is unchanged since the editor read it.
//     Each save gives the node a new nonce in the same write. A save of an outdated state returns a
//     *ConflictError with both versions. To merge them, the editor copies changes into Theirs and
//     saves that.
//   - A reader sees either the old file of a node or the new one, always complete. The node decides
//     which file that is, and not the newest uploadDate.
//   - Nobody deletes chunks of an upload in progress. An upload by this package is registered in
//     its node before its first chunk. If it pauses for Config.Lease, a sweep first removes the
//     registration. From then on the upload cannot be attached to the node (ErrUploadLost), and
//     only then are its chunks orphans. An upload by another program can be recognized only by its
//     chunks: they are safe if the upload never pauses for Config.Grace. Chunks whose _id does not
//     contain a time are reported and kept.
//   - Checkout is a courtesy between people, with a lease. It does not prevent conflicting saves.
//   - A sweep deletes a version after Config.Grace if it is older than the last Config.Versions
//     saves. A client that still reads it then gets an error.
//   - If the write concern is weaker than majority, a failover can roll a registration back. The
//     default is majority.
//
// # After a crash
//
//	Create, Edit, Revert   one write: it has happened or not; if the reply was lost, read the node again
//	Upload                 before the last write the node is unchanged; a registration, chunks and perhaps
//	                       a file without an owner are left; sweeps remove them after Config.Lease and
//	                       then Config.Grace
//	Delete                 after its first write the node does not exist any more; a sweep deletes its files
//	Checkout               the lease ends by itself
//	Sweep                  can be repeated
//
// # Scaling
//
// Readers of a site can use secondaries, where a save may appear a little later. An editor must
// read from the primary, or the save will conflict. Shard nodes by {"metadata.section": 1,
// "metadata.slug": 1}: pages are read by this key, it keeps slugs unique, and saves carry both
// fields. Shard chunks by {files_id: 1, n: 1}. The documents of files are small and few, and stay
// on one shard.
//
// # Source
//
// The pattern is in "MongoDB Applied Design Patterns", chapter 6: nonces, photos in GridFS, tags
// and feeds. The book replaces a photo by storing another file with the same name, and readers take
// the newest. If two people do so at once, one photo is lost; here the node refers to its file,
// guarded by its nonce. The book has no drafts, does not show conflicts, and does not treat
// crashes. "50 Tips and Tricks for MongoDB Developers", tip 39, removes orphan chunks after a look
// at db.currentOp() and the newest uploadDate. But an upload consists of many operations with
// pauses between them, so neither shows that no upload is in progress. Therefore this package
// registers uploads.
package cms
