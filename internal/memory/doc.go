// Package memory counts the bytes that requests hold, so that all of them together stay within one
// budget.
//
// Concepts:
//
//   - A Budget is the limit of one server.
//   - A Holding is what one holder (a message, a reply, a sort, a cursor, a transaction) has taken
//     of it. Whoever makes a holding releases it.
//
// Invariants:
//
//  1. Only Admit waits (TryAdmit does not), and only a request that holds nothing calls it. Hold
//     never waits: a holder that waited could wait for another holder that waits for it. It fails
//     with ExceededMemoryLimit.
//  2. Admit gives at most half of the budget away, so that those who were admitted find room for
//     what their commands need.
//  3. A nil Budget has no limit and costs nothing.
//  4. What is lent and what requests hold are together within the budget, but for a step: it is
//     taken back before the request that needs it goes on.
//  5. Small things are not counted: a Holding takes its share in steps of Step bytes. That keeps
//     ping and its like exempt, and the counter out of the way of small requests.
package memory
