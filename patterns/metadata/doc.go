// Package metadata keeps attributes whose names are not known in advance, and finds documents by
// any combination of attributes with one index.
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
// Pictures have cameras, apertures and flashes, and the next format has something else. An index
// for every name is not possible, and most names are in few documents.
//
// When not to use it: for names that all documents have. Those are fields, with indexes of their
// own; a compound index of two fields finds what has both of two values at once, which no design
// here does.
//
// # The documents
//
// Both designs have the same operations; Config.Design chooses.
//
//	Array
//	objects: {_id: 1, owner: "peter", metadata: [{key: "Camera make", value: "Canon"}, {key: "File size", value: 32764}]}
//	index {"metadata.key": 1, "metadata.value": 1}
//
//	Wildcard
//	objects: {_id: 1, owner: "peter", metadata: {"Camera make": "Canon", "File size": 32764}}
//	index {"metadata.$**": 1}
//
// Values keep their types: the string "32764" is not the number, while all types of numbers
// compare. A document has a key once, and at most Config.Limit keys; an entry of an index is made
// for each.
//
// # Operations
//
//	Set      1 update, which replaces the value where it stands, or appends it
//	Unset    1 update
//	Get      1 find by _id
//	Find     1 find; the index finds those of one condition, the others are looked at in the documents
//	Facets   1 aggregate, which reads what meets the conditions
//
// Which one? Array takes any name and any value, arrays too; each condition is an $elemMatch of its
// own, so that a key is never found with the value of another. Wildcard is smaller and reads as
// documents do; names cannot contain dots or begin with a dollar sign. Its index gives the order of
// a sort by one key, which that of Array cannot. A condition Exists is found by the index in both.
//
// Which condition the index serves is the server's choice: it tries them. Where statistics mislead
// it, put the condition that few documents meet into a query of its own.
//
// # Guarantees
//
//   - Each operation is one command on one document: done or not. Attributes that are set at the
//     same time by many are all kept; of one key the last one wins.
//   - What several conditions find is what each of them finds alone, intersected.
//
// # Crashes
//
// A process that dies in an operation has done it or not, and does it again: both are the same.
// There is nothing for a Repair. Check looks at the shape of what others have written.
//
// # Scaling
//
// Shard by the owner of the documents (Config.Owner), never by an attribute, and put the owner into
// the query, with Filter. Reads from secondaries serve well where an attribute that was just set
// may be missing.
//
// # Source
//
// "The Little MongoDB Schema Design Book", metadata (S36); "MongoDB Applied Design Patterns",
// chapter 2 (S06), has the idea. The book's remark that the first condition should be the most
// selective one is from a time when the server took the first. Its single $elemMatch with several
// keys cannot work, since a document has a field once. There were no wildcard indexes then.
package metadata
