// Package metadata stores attributes whose names are not known in advance. One index finds
// documents by any combination of attributes.
//
//	meta, err := metadata.New(db, metadata.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := meta.EnsureIndexes(ctx); err != nil {
//		log.Fatal(err)
//	}
//	for i, camera := range []string{"Canon", "Canon", "Leica"} {
//		err := errors.Join(meta.Set(ctx, i, "camera", camera), meta.Set(ctx, i, "aperture", 2.8+float64(i)))
//		if err != nil {
//			log.Fatal(err)
//		}
//	}
//
// # The problem
//
// Pictures have cameras, apertures and flashes, and the next file format has other attributes. A
// separate index for every name is not possible, and most names occur in few documents.
//
// When not to use it: for names that all documents have. Store them as fields with their own
// indexes. A compound index of two fields finds documents by both values at once, which neither
// design of this package can do.
//
// # The documents
//
// Both designs have the same operations; Config.Design selects one.
//
//	Array
//	objects: {_id: 1, owner: "peter",
//	          metadata: [{key: "Camera make", value: "Canon"}, {key: "File size", value: 32764}]}
//	index {"metadata.key": 1, "metadata.value": 1}
//
//	Wildcard
//	objects: {_id: 1, owner: "peter", metadata: {"Camera make": "Canon", "File size": 32764}}
//	index {"metadata.$**": 1}
//
// Values keep their types: the string "32764" is not equal to the number, but all numeric types
// compare. A document has each key at most once, and at most Config.Limit keys. Each key needs an
// index entry.
//
// # Operations
//
//	Set      1 update, which replaces the value in place or appends it
//	Unset    1 update
//	Get      1 find by _id
//	Find     1 find; the index finds the documents of one condition, and the server checks the other
//	         conditions in these documents
//	Facets   1 aggregate, which reads the documents that satisfy the conditions
//
// Which design to choose? Array accepts any name and any value, including arrays. Each condition is
// an $elemMatch of its own, so a key never matches the value of another key. Wildcard is smaller
// and easier to read, but names cannot contain a dot or begin with a dollar sign. Its index can
// sort by one key, which the index of Array cannot. Both indexes can find documents by Exists.
//
// The server chooses which condition uses the index: it tries the conditions. If it chooses badly,
// put the condition that matches the fewest documents into a separate query.
//
// # Guarantees
//
//   - Each operation is one command on one document: it has happened or not. If several processes
//     set different attributes at the same time, all are stored. If they set the same key, the last
//     one wins.
//   - A query with several conditions finds exactly the documents that each of the conditions finds
//     alone.
//
// # Crashes
//
// If a process dies during an operation, it has happened or not, and can be repeated: the result is
// the same. There is nothing for a Repair. Check finds documents of other programs that have the
// wrong shape.
//
// # Scaling
//
// Shard by the owner of the documents (Config.Owner), never by an attribute, and add the owner to
// queries with Filter. Reads from secondaries are possible if an attribute that was just set may be
// missing.
//
// # Source
//
// The pattern is in "The Little MongoDB Schema Design Book", metadata (S36); the idea is in
// "MongoDB Applied Design Patterns", chapter 2 (S06). The Little book says that the first condition
// should be the most selective one; at that time the server always used the first. Its single
// $elemMatch with several keys cannot work, because a document cannot have a field twice. Wildcard
// indexes did not exist then.
package metadata
