// Package scenario is what a workload for the simulator is made of.
//
// A Definition names a scenario, its parameters and its usual load; New makes it over a database. The simulator calls
//
//	Setup      once, before the load, in one process
//	Run        once for each user, many at a time; with agents, in several processes
//	Check      once, after the load, in the process that had Setup
//	Teardown   in every process, at the end
//
// As Run may be called in a process that had no Setup, what Setup makes is known by the parameters alone: products are numbered from 0 to
// products-1, say. What a Scenario keeps in memory is what New gives it.
//
// A user's whole time is what is reported. User.Time measures steps of it, User.Count counts what Check compares with what it finds.
package scenario
