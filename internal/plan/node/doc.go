// Package node holds the operators that plans consist of, each in its own file, for example
// collscan.go, fetch.go and sort.go.
//
// A Node is an immutable description of an operator. Its methods tell the planner everything about
// the operator: how it is built, what explain shows, which part of the plan cache signature it has,
// which filter it applies, and what it reads. A Solution is a complete plan. Builder builds
// operators of package exec from nodes. Writer writes the stages of an explain output.
//
// Invariants:
//
//  1. A plan is not changed after it was built.
//  2. The tree of operators has the shape of the plan, except that Express, which is only a name,
//     has no operator.
//  3. A signature has the structure of a plan and none of its values.
//
// The package does not choose plans. To add an operator, add a file with a type that implements
// Node; the compiler names the missing methods. Package candidate uses the new node where it is
// better.
package node
