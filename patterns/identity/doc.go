// Package identity finds a user by any of several identities: a name, e-mail addresses, phone
// numbers, and accounts of other services. At every moment an identity belongs to at most one user.
//
//	users, err := identity.New(db, identity.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	_, err = users.Register(ctx, "peter", bson.D{{"city", "Hamburg"}},
//		identity.Name("Peter"), identity.Email("Peter@Example.com"))
//	if err != nil {
//		log.Fatal(err)
//	}
//	_, err = users.Register(ctx, "", nil, identity.Name("pan"), identity.Email("peter@example.com"))
//	fmt.Println("the address is taken:", errors.Is(err, identity.ErrTaken))
//
// # The problem
//
// People log in with whatever they remember. On one server, a unique index on each field of the
// user's document solves this. If users are sharded by _id, an index on another field is not unique
// across shards, and a search by it queries every shard. In this package each identity is a
// document of its own, whose _id is the identity. It is therefore unique across all shards, is
// found on one shard, and a user can have any number of identities of any kinds. But some
// guarantees that a single document gives for free now need work. A registration must take both the
// name and the address, or neither. And if a process dies, no user may own only half of the claimed
// identities.
//
// When not to use it: if you have one server and will not add shards, and users have one name and
// one address. Then two unique indexes on the users are enough. The package does not handle
// passwords or sessions, and it does not verify claims: confirm an address before you claim it.
//
// # The documents
//
//	identities: {_id: "login:peter@example.com", kind: "email", value: "Peter@Example.com", user: "peter", at}
//	            {_id: "oauth:google/1177", kind: "oauth", value: "google/1177", user: "peter", at}
//	users:      {_id: "peter", …your fields}
//	claims:     {_id: ObjectId, user: "peter", ids: ["login:peter", …], state: "open", deadline}
//	            exists while several identities are claimed; register: true if the user is new
//
// Indexes: identities {user: 1} and {claim: 1}; users {claim: 1}, {mergedInto: 1}, {merging: 1} and
// {leaving: 1}; claims {deadline: 1}. The indexes except the first and the last are sparse and
// almost empty. Documents are small: a value has at most MaxValue bytes, and a claim has at most
// MaxClaim identities.
//
// The _id of an identity is the normal form of its value: Peter@Example.com and peter@example.com
// are the same. The _id begins with the space of the identity's kind. Names, addresses and phone
// numbers share the space "login", because people type them into the same field: so a user cannot
// take another user's address as a name. Config.Kinds changes spaces and normal forms.
//
// # Operations
//
//	Owner     1 find by _id; 1 more for the user's document
//	Find      the same
//	Claim     of one: 1 insert, 1 find of the user; of several: 6 commands, however many there are
//	Register  8 commands: a claim that also creates the user
//	Release   1 delete for each identity
//	List      1 find by user, which queries all shards
//	Merge     7 commands: 2 updates that begin and decide, a find of the other user before and after the
//	          update of all identities, 1 update, 1 find
//	Delete    1 update, 2 deletes, 1 find of the users merged into this one; 1 find and 1 delete for each
//	          of them
//
// A claim of several identities takes six commands:
//
//  1. The claim is stored with the state open.
//  2. The identities are inserted in the order of their _ids. Each carries the claim as a mark.
//  3. The user is read, to see that it exists.
//  4. The state of the claim becomes done.
//  5. The marks are removed.
//  6. The claim is removed.
//
// Step 4 is one write to one document, and decides for all identities at once. A marked identity
// belongs to the user if its claim is done. It belongs to nobody if the claim is open or does not
// exist any more. A process that finds a mark of a claim that is done, or whose deadline has
// passed, ends that claim first and then continues. All processes insert in the same order, so one
// of two competing claims wins.
//
// Register works in the same way, and also marks the user's document. A merge is also decided by
// one write:
//
//  1. The document of the merged user gets mergedInto, and merging: "begun".
//  2. The other user is read. The merge is undone if that user does not exist or is about to be
//     merged, so merges cannot form a cycle.
//  3. merging becomes "decided". From now on Owner and Find follow mergedInto.
//  4. The identities are moved to the other user.
//  5. The other user is read again, because it may have been deleted or merged meanwhile.
//  6. The field merging is removed.
//  7. The other user is read once more, because its deletion ignores users that still have merging.
//
// # Guarantees
//
//   - At any moment an identity has at most one owner: it is one document with one user.
//   - A claim of several identities, and a registration, happen completely or not at all. Readers
//     never see half of them.
//   - A merge happens at one moment for all identities of a user. During the merge, each identity
//     has an owner.
//   - The user of an identity exists. Claim reads the user after its insert, and Delete marks the
//     user before it removes the identities. So at least one of them notices the other.
//
// Reads go to the primary. The write concern must be strong enough that acknowledged writes are not
// rolled back: majority on a replica set. A released identity is free at once. A user can release
// the last identity. Do not use the _id of a deleted user again while a process may still be
// deleting that user: it would remove the identities of the new user. Register generates _ids that
// do not repeat. For the same reason, do not claim an identity for a user that is not registered
// yet: Repair may find the identity without its user, and remove it.
//
// # Crashes
//
//	Claim of one  before it reads the user: if the user was deleted meanwhile, its identity is left;
//	              Repair removes it
//	Claim, 1–3    no identity has changed its owner; after the deadline, Repair or a process that finds
//	              a mark gives the claim up
//	Claim, 4–6    the user owns all identities; Repair or a process that finds a mark removes the marks
//	Merge, 1–2    nothing has happened; Repair decides the merge or undoes it; until then the user
//	              cannot claim identities (ErrBusy)
//	Merge, 3–7    the merge has happened; Repair moves the remaining identities
//	Delete        before the first write nothing has happened; after it, Repair continues
//
// Run does the part of Repair that can use indexes, in a loop. Repair also reads all identities to
// find those without a user, and all merged users to find the ones whose target is deleted; once a
// day is enough. A process that sleeps past the deadline of its claim gets ErrExpired.
//
// # Scaling
//
// All three collections are sharded by {_id: "hashed"}. Identities stay unique because the unique
// key is the shard key. Finding a user takes two queries, each to one shard.
//
// # Source
//
// The pattern is in "The Little MongoDB Schema Design Book", chapter on sharding, multiple
// identities (S32). The book stores {email, user} as one identifier and searches for {email}, which
// does not match; here an identity is a single value. The book has a unique index on {identifier:
// 1}; the _id already has one. It does not treat the order of writes, crashes, claims of several
// identities, spelling, kinds that look alike, merging, or deletion.
package identity
