// Package identity finds a user by many identities: a name, e-mail addresses, phone numbers,
// accounts elsewhere. Each identity belongs to one user at most, at every moment.
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
// People log in by whatever they remember. A unique index on each field of the user's document
// answers that on one server; where users are sharded by _id, an index on another field is not
// unique over all shards, and a search by it asks every shard. The design here gives every identity
// a document of its own whose _id is the identity: unique everywhere, found on one shard, as many
// per user and of as many kinds as one likes. What one document gave for nothing must then be made:
// that a sign-up takes the name and the address or neither, and that nobody owns half of something
// when a process dies.
//
// When not to use it: on one server that will stay one, for users with one name and one address.
// Two unique indexes on users are enough. The package knows nothing of passwords or sessions; and
// it believes who claims: confirm an address before it is claimed.
//
// # The documents
//
//	identities: {_id: "login:peter@example.com", kind: "email", value: "Peter@Example.com", user: "peter", at}
//	            {_id: "oauth:google/1177", kind: "oauth", value: "google/1177", user: "peter", at}
//	users:      {_id: "peter", …your fields}
//	claims:     {_id: ObjectId, user: "peter", ids: ["login:peter", …], state: "open", deadline}   while several are claimed; register: true with a new user
//
// Indexes: identities {user: 1} and {claim: 1}, users {claim: 1}, {mergedInto: 1}, {merging: 1} and
// {leaving: 1}, claims {deadline: 1}; all but the first and the last are sparse and hold next to
// nothing. Documents are small: a value has at most MaxValue bytes, a claim MaxClaim identities.
//
// The _id is the normal form of the value: Peter@Example.com and peter@example.com are one. It
// begins with the space of its kind. Names, addresses and phone numbers are one space, "login", as
// people type them into one field: nobody can take somebody's address as a name. Config.Kinds
// changes that, and the normal forms.
//
// # Operations
//
//	Owner     1 find by _id; 1 more for the user's document
//	Find      the same
//	Claim     of one: 1 insert, 1 find of the user. Of several: 6 commands, however many they are
//	Register  8 commands: a claim that also makes the user
//	Release   1 delete each
//	List      1 find by user, which asks all shards
//	Merge     7: 2 updates that begin and decide, a find of the other user before and after the update of all identities, 1 update, 1 find
//	Delete    1 update, 2 deletes, 1 find of the users merged into this one; 1 find and 1 delete for each of them
//
// A claim of several: (1) the claim is written down, open; (2) the identities are inserted in the
// order of their _ids, marked with the claim; (3) the user is looked at; (4) the claim's state
// becomes done; (5) the marks are removed; (6) the claim is removed. Step 4 is one write to one
// document, and decides about all: an identity with a mark is owned if its claim is done, and not
// if it is open or no more. Who meets a mark of a claim that is done, or whose deadline has passed,
// ends it, one way or the other, and goes on. As the order is the same for everybody, one of two
// claims that want the same wins.
//
// Register is the same with the user's document, which carries the mark too. Merge is decided by
// one write as well: (1) the document of the user that is merged says mergedInto, merging: "begun";
// (2) the other user is looked at, and the merge is taken back where that one is gone or about to
// be merged too, so that there are no circles; (3) merging becomes "decided": from then on Owner
// and Find follow mergedInto; (4) the identities are moved; (5) the other user is looked at again,
// as it may have been deleted or merged meanwhile; (6) merging is removed; (7) the other user is
// looked at once more, as whoever deletes it leaves those with merging alone.
//
// # Guarantees
//
//   - An identity has at most one owner at any moment: it is one document, with one user.
//   - A claim of several, and a sign-up, happen as a whole or not at all, also for readers in the
//     middle.
//   - A merge happens at one moment for all identities of a user; none is without an owner while it
//     goes on.
//   - An identity's user exists. Claim looks at the user after its insert, Delete marks the user
//     before it removes the identities: one of them sees the other.
//
// Reads go to the primary, and the write concern must be such that acknowledged writes stay:
// majority, on a replica set. A released identity is free at once. Nothing prevents a user from
// releasing the last one. Do not use the _id of a deleted user again while processes may still be
// deleting it: they would take the identities of the new one. Register makes _ids that do not
// repeat. For the same reason do not claim for a user before it is registered: Repair may see the
// identity without its user, and remove it.
//
// # Crashes
//
//	Claim of one  before its look at the user: an identity of a user that was deleted meanwhile is left, for Repair
//	Claim, 1–3    nobody owns anything; the claim is ended when its deadline has passed, by who meets it or by Repair
//	Claim, 4–6    everything is owned; marks are removed by who meets them or by Repair
//	Merge, 1–2    nothing has happened; Repair decides it, or takes it back. Until then the user can claim nothing (ErrBusy)
//	Merge, 3–7    it has happened; Repair moves what is left
//	Delete        before the first write nothing; afterwards Repair goes on
//
// Run does the part of Repair that has indexes, again and again. Repair also reads all identities
// for those without a user, and all merged users for those whose user is deleted: once a day is
// plenty. A process that sleeps past the deadline of its claim finds it gone and is told
// ErrExpired.
//
// # Scaling
//
// All three collections are sharded by {_id: "hashed"}: uniqueness is kept because the unique key
// is the shard key. Finding a user is two queries, each for one shard.
//
// # Source
//
// "The Little MongoDB Schema Design Book", chapter on sharding, multiple identities (S32). The book
// inserts {email, user} as one identifier and looks for {email}, which does not match: an identity
// here is one value. It has a unique index on {identifier: 1}; the _id is one already. It says
// nothing about the order of writes, processes that die, several identities at once, spelling,
// kinds that look alike, merging and deletion.
package identity
