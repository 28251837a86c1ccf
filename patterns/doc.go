// Package patterns has the parts that the packages of this folder share. Each package of this
// folder is an applied design pattern for MongoDB that programs can import. All of them are used
// like this one:
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
// db is a *mongo.Database of the official driver. Apart from the driver, only package cms has a
// dependency, for its feeds. The server is MongoDB 4.4 or later, or Sheaf, embedded or as a server.
//
// A Config embeds Env: the clock, the logger and the counters that the pattern uses.
//
// Indexes and ShardKeys list the indexes and shard keys of a pattern, so that other tools can
// create them. Check reads all documents and lists violations of the invariants of the pattern.
// Repair finishes the operations of processes that died.
package patterns
