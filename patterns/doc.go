// Package patterns is what the packages below it have in common: applied design patterns for MongoDB, each as a package that a
// program imports. They run on any MongoDB from 4.4 on, and on Sheaf, embedded or served; they depend on the official driver alone.
//
// Every pattern has the same outline:
//
//	q, err := queue.New(db, queue.Config{})
//	err = q.EnsureIndexes(ctx) // once, at a program's start; it may run any number of times
//	…                          // the pattern's own operations
//	violations, err := q.Check(ctx)
//	n, err := q.Repair(ctx)
//
// The zero Config works. Env, which is part of every Config, brings the surroundings: a clock, a logger, counters. Indexes and
// ShardKeys tell what the pattern needs, for those who create it by other means. Check reads everything and lists what contradicts
// the pattern's invariants; Repair mends what a process that died in the middle of an operation can leave behind.
package patterns
