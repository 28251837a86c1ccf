// Command bench measures Sheaf beside its floors and its peers, in one run.
//
// A side is something that does workloads: the server that does nothing ("floor", over TCP;
// "floor-memory", over the connections that the embedded client uses), Sheaf as a server process,
// Sheaf embedded, raw Pebble, PostgreSQL, and any MongoDB named on the command line. A workload is
// an operation done by so many clients at once. Each round measures every side of a workload for
// the same time, one after the other, so that a disturbance meets all of them; the figure is the
// median of the rounds. A claim is a figure, mostly a ratio of two, beside its target.
//
// Invariants:
//
//  1. All sides hold the same documents (dataset.go) and check what they get: a wrong number of
//     results is an error.
//  2. Nothing is measured while a side still works on what was before (runner.settle).
//  3. What cannot be measured here is left out and said, never guessed.
//  4. Every process and directory that the program made is gone when it ends.
//
// With -agg it asks pipelines of a million orders, beside the same questions in SQL (agg.go),
// instead. With -patterns it does what applications do in some steps (patterns.go), with the
// packages of patterns/ beside the same in SQL, and tells what transactions and the oplog cost.
//
// It does not measure latency under a fixed rate, nor more than one machine.
package main
