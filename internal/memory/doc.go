// Package memory counts the bytes that requests hold, so that all of them together stay within one
// budget.
//
// Concepts:
//
//   - A Budget is the limit of one server.
//   - A Holding is the part of a budget that one holder has: a message, a reply, a sort, a cursor,
//     a transaction. The code that creates a holding releases it.
//
// Invariants:
//
//  1. Only Admit waits, and only a request that holds nothing calls it. Hold fails with
//     ExceededMemoryLimit instead of waiting. If it waited, two holders could wait for each other.
//  2. Admit gives away at most half of the budget, so that the other half is left for the commands
//     of the admitted requests.
//  3. A nil Budget has no limit and costs nothing.
//  4. Lent memory and the memory of requests are together within the budget, except for one step.
//     Lent memory is taken back before the request that needs it continues.
//  5. Small amounts are not counted: a Holding takes its share in steps of Step bytes. So a
//     command such as ping takes nothing, and small requests do not contend for the counter.
package memory
