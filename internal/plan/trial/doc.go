// Package trial compares candidate plans by running them.
//
// Race runs all candidates in turn until one has reached its end or has yielded enough rows. It
// then ranks them by their productivity: rows per work. The rows of the winner are kept and yielded
// again by its execution. A Choice is the result, the winner first.
//
// Invariants:
//
//  1. A trial is limited in works, rows and bytes.
//  2. The winner continues where its trial ended: no row is read twice or lost.
//
// The package does not know the plan cache. To rank by another criterion, change Score.
package trial
