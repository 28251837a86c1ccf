// Package scenario defines what a workload for the simulator consists of.
//
// A Definition names a scenario, its parameters and its usual load. Its New creates the scenario
// over a database. The simulator calls
//
//	Setup      once, before the load, in one process
//	Run        once for each user, many at a time; with agents, in several processes
//	Check      once, after the load, in the process that had Setup
//	Teardown   in every process, at the end
//
// Run may be called in a process that did not call Setup. So the parameters alone must say what
// Setup created: for example, products are numbered from 0 to products-1. A Scenario keeps in
// memory only what New gives it.
//
// The simulator reports the whole time of a user. User.Time measures single steps, and User.Count
// counts events, which Check compares with the database.
package scenario
