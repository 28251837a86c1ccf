// Package patterns has what its packages share: applied design patterns for MongoDB, one importable
// package each. All of them are used like this one:
//
//	jobs, err := queue.New(db, queue.Config{}) // the zero Config works
//	if err != nil {
//		return err
//	}
//	if err := jobs.EnsureIndexes(ctx); err != nil { // once when a program starts, or any number of times
//		return err
//	}
//	_, err = jobs.Put(ctx, queue.Spec{Kind: "convert"}) // the pattern's own operations
//
// db is a *mongo.Database of the official driver, the only dependency: of MongoDB from 4.4 on, or
// of Sheaf, embedded or served.
//
// A Config embeds Env: the clock, the logger and the counters that the pattern uses.
//
// Indexes and ShardKeys list the indexes and shard keys of a pattern, for other means to create
// them. Check reads all documents and lists violations of the pattern's invariants. Repair finishes
// the operations of processes that died.
package patterns
