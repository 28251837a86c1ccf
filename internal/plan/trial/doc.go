// Package trial tries candidate plans against each other.
//
// Race lets all candidates work in turn until one is at its end or has enough rows, and ranks them
// by what they gave for their work. The rows of the winner are kept and given again. A Choice is
// the outcome, the winner first.
//
// Invariants:
//
//  1. A trial is bounded in works, rows and bytes.
//  2. The winner goes on where its trial ended: no row is read twice or lost.
//
// It knows no cache. To rank by something else: Score.
package trial
