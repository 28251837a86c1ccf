// Package node has the operators that plans are made of, a file each: collscan.go, fetch.go,
// sort.go.
//
// A Node is an immutable description. Its methods are all that the planner has to know of an
// operator: how it is built, what explain shows, what tells plans apart in the plan cache, which
// filter it asks, and what it reads. A Solution is a complete plan. Builder makes operators of
// package exec, Writer writes the stages of an explanation.
//
// Invariants:
//
//  1. A plan is not changed once it was built.
//  2. The tree of operators has the shape of the plan, but for Express, which is only a name.
//  3. A signature has the structure of a plan and none of its values.
//
// It does not choose. To add an operator: a file with a type that implements Node; the compiler
// names what is missing. The package candidate uses it where it is the better plan.
package node
