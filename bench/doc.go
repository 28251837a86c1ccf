// Command bench measures Sheaf, its floors and its peers in one run.
//
// A side is a system that runs workloads: the floor server, Sheaf as a server process, Sheaf
// embedded, raw Pebble, PostgreSQL, or a MongoDB named on the command line. The floor server does
// nothing: it shows how fast a client and its transport can be. The side "floor" reaches it over
// TCP, and the side "floor-memory" over the connections that the embedded client uses.
//
// A workload is an operation and the number of clients that repeat it at once. In each round, all
// sides that take part in a workload run it one after the other, each for the same time. So a
// disturbance of the machine hits all sides. A rate or latency is the median of the rounds, and a
// peak of memory is their maximum. A claim is a figure with a target, mostly
// a ratio of two rates.
//
// Invariants:
//
//  1. All sides hold the same documents (dataset.go) and check their results: a wrong number of
//     results is an error.
//  2. No measurement begins while a side still works on an earlier one (runner.settle).
//  3. A figure that cannot be measured on this machine is left out and reported as missing. It is
//     never guessed.
//  4. When the program ends, it has ended the processes and removed the directories that it made.
//
// With -agg the program instead measures pipelines over a million orders and the same queries in
// SQL (agg.go). With -patterns it measures tasks of applications that take several steps
// (patterns.go): with the packages of patterns/ and with SQL. It also measures the cost of
// transactions and of the oplog.
//
// It does not measure latency at a fixed rate, and it uses only one machine.
package main
